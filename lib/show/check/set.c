/* SPDX-License-Identifier: Apache-2.0 */
/* set.c - --check of several files: one verdict with its reasons, in a short text */
#include "check/set.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/vec.h"
#include "check/internal/run.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum { ROWS = 16, CAUSES = 12 };

static bool is_asked(const struct mpk_there *there)
{
	return there->device || there->cuda.driver.major;
}

/* --- one file more ------------------------------------------------------------------------------ */

static enum mpk_check_fit fit_of_result(const struct mpk_check_result *r)
{
	const struct mpk_check_gpu_counts *n = &r->gpu_counts;
	bool bad = r->device_errors || r->registration_errors || r->policy_errors;

	if (r->gpu == MPK_CHECK_GPU_OTHER)
		return MPK_CHECK_FIT_OTHER;
	if (r->gpu == MPK_CHECK_GPU_PORTABLE)
		return MPK_CHECK_FIT_ANY;
	if (r->driver_refuses)
		return MPK_CHECK_FIT_NO;
	if (n->units)
		return !n->units_run ? MPK_CHECK_FIT_NO
		       : bad         ? MPK_CHECK_FIT_PART
				     : MPK_CHECK_FIT_YES;
	return is_asked(r->there) ? MPK_CHECK_FIT_NONE : MPK_CHECK_FIT_UNASKED;
}

static const char *kept(struct mpk_check_set *set, const char *text, bool *failed)
{
	const char *copy = text ? mpk_arena_text(set->arena, mpk_span_str(text)) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* Removes the number of symbols from a message: a missing library is one cause, however many of its
 * symbols each file needs.
 * @symbols receives that number
 * Returns  NULL if memory is out */
static const char *without_symbols(struct mpk_check_set *set, const char *text, uint64_t *symbols)
{
	const char *at = strstr(text, MPK_CHECK_NOWHERE_ELSE), *begin = at;

	if (!at)
		return mpk_arena_text(set->arena, mpk_span_str(text));
	while (begin > text && *begin != ';')
		begin--;
	*symbols = strtoull(begin + 1, NULL, 10);
	return mpk_arena_printf(set->arena, "%.*s%s", (int)(begin - text), text,
				at + strlen(MPK_CHECK_NOWHERE_ELSE));
}

/* Keeps a finding of the last file. The same finding for another file or another target is the
 * same cause. */
static enum mpk_code add_cause(struct mpk_check_set *set, const struct mpk_finding *f,
			       struct mpk_error *err)
{
	bool failed = false;
	uint64_t symbols = 0;
	const char *text = without_symbols(set, f->error.text, &symbols);
	const char *key =
		text ? mpk_arena_printf(set->arena, "%d %s %s", (int)f->severity, f->check, text)
		     : NULL;
	struct mpk_check_set_cause *c;
	size_t at;
	int rc;

	MPK_TRY_ALLOC(key, err);
	rc = mpk_strmap_put(&set->by_text, mpk_span_str(key), set->cause_count, &at);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc) {
		MPK_TRY_ALLOC(mpk_vec_reserve(&set->causes, &set->cause_cap, set->cause_count + 1,
					      sizeof *set->causes),
			      err);
		set->causes[set->cause_count++] = (struct mpk_check_set_cause){
			.severity = f->severity,
			.check = f->check,
			.text = text,
			.path = kept(set, f->error.at.path, &failed),
		};
	}
	c = &set->causes[at];
	if (c->path && strcmp(c->path, f->error.at.path) != 0)
		c->path = "";
	MPK_TRY_ALLOC(MPK_VEC_ROOM(set->findings, set->finding_count, set->finding_cap), err);
	set->findings[set->finding_count++] = (struct mpk_check_set_finding){
		.cause = at,
		.item = set->count - 1,
		.symbols = symbols,
	};
	return failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_check_set_add(struct mpk_check_set *set, const struct mpk_check_result *r,
				size_t place, struct mpk_error *err)
{
	const struct mpk_check_set_item *before = set->count ? &set->items[set->count - 1] : NULL;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf sentence = { 0 };
	bool failed = false, is_same = before && strcmp(before->file, r->file) == 0;
	const char *file = is_same ? before->file : kept(set, r->file, &failed);

	mpk_check_put_verdict(r, &sentence);
	MPK_TRY(mpk_strbuf_status(&sentence, err));
	set->files += !is_same;
	MPK_TRY_ALLOC(mpk_vec_reserve(&set->items, &set->cap, set->count + 1, sizeof *set->items),
		      err);
	set->items[set->count] = (struct mpk_check_set_item){
		.file = file,
		.place = place,
		.outcome = mpk_check_outcome(r),
		.sentence = kept(set, mpk_strbuf_text(&sentence), &failed),
		.fit = fit_of_result(r),
		.counts = r->gpu_counts,
		.by_ptx = r->gpu_by_ptx,
		.path = kept(set, r->gpu_place, &failed),
		.kernel = kept(set, r->gpu_kernel, &failed),
		.targets = kept(set, r->gpu_targets, &failed),
		.exports = r->exports,
		.is_extra = !r->gpu_counts.holes && !r->registration_errors && !r->driver_refuses &&
			    r->there->cuda.wants == MPK_CUDA_ANY,
		.instead = set->count,
	};
	set->count++;
	if (failed)
		return mpk_fail_nomem(err);
	/* findings that the table of libraries shows are not causes */
	for (size_t i = 0; i < r->report.count; i++)
		if (strcmp(r->report.findings[i].check, "device") != 0)
			MPK_TRY(add_cause(set, &r->report.findings[i], err));
	return MPK_OK;
}

void mpk_check_set_fini(struct mpk_check_set *set)
{
	free(set->items);
	free(set->causes);
	free(set->findings);
	mpk_strmap_fini(&set->by_text);
}

/* Returns a file's name without the leading name of the set. */
static const char *short_name(const struct mpk_check_set *set, const char *file)
{
	size_t len = strlen(set->name);

	if (strncmp(file, set->name, len) != 0)
		return file;
	file += len;
	file += *file == '!';
	return file + (*file == '/');
}

/* --- alternatives ------------------------------------------------------------------------------- */

/* Returns the path without the architectures in it; NULL if it has none. */
static const char *without_archs(struct mpk_check_set *set, const char *file, bool *failed)
{
	char *out = mpk_arena_copy(set->arena, file, strlen(file));
	size_t n = (size_t)(short_name(set, file) - file), len;
	bool found = false;

	*failed |= !out;
	for (const char *p = file + n; out && *p; p += len ? len : 1) {
		len = mpk_check_arch_length(file, p);
		out[n++] = len ? '#' : *p;
		found |= len > 0;
	}
	if (!out || !found)
		return NULL;
	out[n] = 0;
	return out;
}

/* Returns a key that is equal for the releases of one library: the name without its last number,
 * the folder, and the exports. NULL if the name has no number or nothing is exported;
 * *failed: memory is out */
static const char *family_of(struct mpk_check_set *set, const struct mpk_check_set_item *item,
			     bool *failed)
{
	const char *name = strrchr(item->file, '/'), *end, *begin, *key;
	const char *plain = without_archs(set, item->file, failed);

	if (plain && item->exports) {
		key = mpk_arena_printf(set->arena, "%zu %llx %s", item->place,
				       (unsigned long long)item->exports, plain);
		*failed |= !key;
		return key;
	}
	name = name ? name + 1 : item->file;
	end = strstr(name, ".so");
	end = end ? end : name + strlen(name);
	while (end > name && !isdigit((unsigned char)end[-1]))
		end--;
	begin = end;
	while (begin > name && isdigit((unsigned char)begin[-1]))
		begin--;
	if (begin == end || !item->exports)
		return NULL;
	key = mpk_arena_printf(set->arena, "%zu %llx %.*s#%s", item->place,
			       (unsigned long long)item->exports, (int)(begin - item->file),
			       item->file, end);
	*failed |= !key;
	return key;
}

/* Compares two files at one target: a file that passes is better, then one with code for more of
 * its kernels, then one that needs no PTX compilation, then the later release. */
static bool is_better(const struct mpk_check_set_item *a, const struct mpk_check_set_item *b)
{
	bool bad = mpk_check_outcome_is_error(a->outcome),
	     other = mpk_check_outcome_is_error(b->outcome);

	if (bad != other)
		return other;
	if (a->fit != b->fit)
		return a->fit == MPK_CHECK_FIT_YES ||
		       (a->fit == MPK_CHECK_FIT_PART && b->fit != MPK_CHECK_FIT_YES);
	if (a->by_ptx != b->by_ptx)
		return b->by_ptx;
	return mpk_natural_compare(a->file, b->file) > 0;
}

/* Whether two folders are one for several releases or devices: "cuda12" and "cuda13", "cupti" and "cupti-blackwell". */
static bool are_alike(const char *a, size_t a_len, const char *b, size_t b_len)
{
	const char *a_end = a + a_len, *b_end = b + b_len;

	for (;; a++, b++) {
		while (a < a_end && isdigit((unsigned char)*a))
			a++;
		while (b < b_end && isdigit((unsigned char)*b))
			b++;
		if (a >= a_end || b >= b_end || *a != *b)
			break;
	}
	return (a >= a_end || *a == '-' || *a == '_' || (*a == '/' && a + 1 == a_end)) &&
	       (b >= b_end || *b == '-' || *b == '_' || (*b == '/' && b + 1 == b_end)) &&
	       !memchr(a, '/', a < a_end ? (size_t)(a_end - a) - 1 : 0) &&
	       !memchr(b, '/', b < b_end ? (size_t)(b_end - b) - 1 : 0);
}

/* A library of the same name in such a folder is the same library, as CUPTI for two releases of CUDA in one wheel: where
 * nothing or not all of one runs, the program has the other.
 * Returns  what its name begins with, as a key; NULL when memory is out */
static const char *stem_of(struct mpk_check_set *set, const struct mpk_check_set_item *item,
			   size_t *folder)
{
	const char *slash = strrchr(item->file, '/'), *name = slash ? slash + 1 : item->file;
	const char *end = strstr(name, ".so");

	*folder = (size_t)(name - item->file);
	return mpk_arena_printf(set->arena, "%zu %.*s", item->place,
				(int)(end ? (size_t)(end - name) : strlen(name)), name);
}

static bool lacks_code(const struct mpk_check_set_item *item)
{
	return item->outcome == MPK_CHECK_RUNS_NOT || item->outcome == MPK_CHECK_RUNS_PARTLY;
}

static enum mpk_code find_in_folders(struct mpk_check_set *set, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap stems = { 0 };
	size_t first, folder, other;

	for (size_t i = 0; i < set->count; i++) {
		const struct mpk_check_set_item *item = &set->items[i];
		const char *stem;

		if (item->fit != MPK_CHECK_FIT_YES)
			continue;
		stem = stem_of(set, item, &folder);
		MPK_TRY_ALLOC(stem && mpk_strmap_put(&stems, mpk_span_str(stem), i, &first) >= 0,
			      err);
	}
	for (size_t i = 0; i < set->count; i++) {
		struct mpk_check_set_item *item = &set->items[i];
		const char *stem;

		if (!lacks_code(item) || item->instead != i)
			continue;
		stem = stem_of(set, item, &folder);
		MPK_TRY_ALLOC(stem, err);
		if (!mpk_strmap_find(&stems, mpk_span_str(stem), &first))
			continue;
		(void)stem_of(set, &set->items[first], &other);
		if ((folder == other && strncmp(item->file, set->items[first].file, folder) == 0) ||
		    !are_alike(item->file, folder, set->items[first].file, other))
			continue;
		item->instead = first;
		set->items[first].others++;
	}
	return MPK_OK;
}

static enum mpk_code find_alternatives(struct mpk_check_set *set, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap families = { 0 };
	size_t *best = mpk_arena_array(set->arena, set->count, sizeof *best);
	bool failed = false;

	MPK_TRY_ALLOC(best, err);
	for (size_t i = 0; i < set->count; i++) {
		const char *family = family_of(set, &set->items[i], &failed);
		size_t first = i;

		if (failed ||
		    (family && mpk_strmap_put(&families, mpk_span_str(family), i, &first) < 0))
			return mpk_fail_nomem(err);
		set->items[i].instead = first;
		if (first == i || is_better(&set->items[i], &set->items[best[first]]))
			best[first] = i;
	}
	for (size_t i = 0; i < set->count; i++) {
		set->items[i].instead = best[set->items[i].instead];
		set->items[set->items[i].instead].others += set->items[i].instead != i;
	}
	return MPK_OK;
}

/* --- counts -------------------------------------------------------------------------------------- */

static bool decides(const struct mpk_check_set *set, size_t item)
{
	return set->items[item].instead == item;
}

static void count_fit(struct mpk_check_set_device *d, const struct mpk_check_set_item *item)
{
	d->yes += item->fit == MPK_CHECK_FIT_YES;
	d->part += item->fit == MPK_CHECK_FIT_PART;
	d->no += item->fit == MPK_CHECK_FIT_NO;
	d->spared += item->fit == MPK_CHECK_FIT_SPARED;
	d->any += item->fit == MPK_CHECK_FIT_ANY;
	d->other += item->fit == MPK_CHECK_FIT_OTHER;
	d->by_ptx += item->fit == MPK_CHECK_FIT_YES && item->by_ptx;
	if (!d->first && (item->fit == MPK_CHECK_FIT_NO || item->fit == MPK_CHECK_FIT_PART))
		d->first = item;
	if (!d->first_spared && item->fit == MPK_CHECK_FIT_SPARED)
		d->first_spared = item;
}

/* Spares a library that cannot run on the device if another library of the set runs. A library only for
 * newer or special GPUs, or named by its architecture, is an extra of the package, like such
 * containers of one library. If it is for older GPUs, the options decide. */
static enum mpk_code spare(struct mpk_check_set *set, struct mpk_error *err)
{
	bool *served, failed = false;
	size_t places = 1;

	for (size_t i = 0; i < set->count; i++)
		places = set->items[i].place >= places ? set->items[i].place + 1 : places;
	served = mpk_arena_array(set->arena, places, sizeof *served);
	MPK_TRY_ALLOC(served, err);
	memset(served, 0, places * sizeof *served);
	for (size_t i = 0; i < set->count; i++)
		served[set->items[i].place] |= set->items[i].fit == MPK_CHECK_FIT_YES ||
					       set->items[i].fit == MPK_CHECK_FIT_PART;
	for (size_t i = 0; i < set->count; i++) {
		struct mpk_check_set_item *item = &set->items[i];
		const struct mpk_there *there = &set->places[item->place % set->device_count];
		bool is_extra = item->is_extra || without_archs(set, item->file, &failed) != NULL;

		if (item->outcome != MPK_CHECK_RUNS_NOT || !served[item->place] ||
		    !(is_extra ? !there->strict : there->allow_part))
			continue;
		item->fit = MPK_CHECK_FIT_SPARED;
		item->outcome = MPK_CHECK_OPEN;
	}
	return failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* Counts the files of each cause. What is found of a release that a better one replaces keeps
 * nobody from anything. */
static void count_causes(struct mpk_check_set *set)
{
	for (size_t i = 0; i < set->finding_count; i++) {
		const struct mpk_check_set_finding *f = &set->findings[i];
		struct mpk_check_set_cause *c = &set->causes[f->cause];
		const char *file = set->items[f->item].file;

		if (!decides(set, f->item))
			continue;
		c->first = c->first ? c->first : file;
		c->files += c->last != file;
		c->symbols += f->symbols;
		c->last = file;
	}
}

enum mpk_code mpk_check_set_sum(struct mpk_check_set *set, struct mpk_error *err)
{
	MPK_TRY(find_alternatives(set, err));
	MPK_TRY(find_in_folders(set, err));
	MPK_TRY(spare(set, err));
	count_causes(set);
	set->devices = mpk_arena_array(set->arena, set->device_count, sizeof *set->devices);
	MPK_TRY_ALLOC(set->devices, err);
	for (size_t i = 0; i < set->device_count; i++)
		set->devices[i] = (struct mpk_check_set_device){ .name = set->places[i].device };
	/* the same for the other releases */
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].place < set->device_count && decides(set, i))
			count_fit(&set->devices[set->items[i].place], &set->items[i]);
	return MPK_OK;
}

/* Counts the files with an outcome at any target. Alternatives to a better file do not count. */
static size_t count_files(const struct mpk_check_set *set, enum mpk_check_outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < set->count; i++) {
		bool again = false;

		for (size_t k = i; k-- > 0 && set->items[k].file == set->items[i].file && !again;)
			again = set->items[k].outcome == outcome && decides(set, k);
		n += set->items[i].outcome == outcome && decides(set, i) && !again;
	}
	return n;
}

/* --- the verdict ---------------------------------------------------------------------------------- */

/* Whether no code is for a requested device, and no check that the user named had anything to look
 * at. */
static bool has_nothing(const struct mpk_check_set *set)
{
	bool asked = false;

	for (size_t i = 0; i < set->device_count; i++) {
		const struct mpk_check_set_device *d = &set->devices[i];

		if (d->yes || d->part || d->no || d->any || d->other)
			return false;
		asked |=
			is_asked(&set->places[i]) && (mpk_check_wanted(&set->places[i], "device") ||
						      mpk_check_wanted(&set->places[i], "driver"));
	}
	if (!asked && !set->places[0].only)
		return false;
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].outcome != MPK_CHECK_NOTHING)
			return asked;
	return true;
}

/* Whether the package has no code for a device's maker: no single file is to blame. */
static bool is_missed(const struct mpk_check_set_device *d)
{
	return d->no || (d->other && !d->yes && !d->part && !d->any);
}

enum mpk_check_outcome mpk_check_set_outcome(const struct mpk_check_set *set)
{
	static const enum mpk_check_outcome worst[] = {
		MPK_CHECK_REFUSED,      MPK_CHECK_RUNS_NOT, MPK_CHECK_RUNS_PARTLY,
		MPK_CHECK_UNREGISTERED, MPK_CHECK_CALLS,    MPK_CHECK_POLICY
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(worst); i++) {
		if (count_files(set, worst[i]))
			return worst[i];
		for (size_t k = 0; worst[i] == MPK_CHECK_RUNS_NOT && k < set->device_count; k++)
			if (is_missed(&set->devices[k]))
				return MPK_CHECK_RUNS_NOT;
	}
	if (has_nothing(set))
		return MPK_CHECK_NOTHING;
	if (count_files(set, MPK_CHECK_OPEN))
		return MPK_CHECK_OPEN;
	return count_files(set, MPK_CHECK_SYSTEM) ? MPK_CHECK_SYSTEM : MPK_CHECK_LOADS;
}

static void put_place(const struct mpk_check_set *set, size_t i, struct mpk_strbuf *out)
{
	const struct mpk_there *there = &set->places[i];

	if (there->device)
		mpk_escape(out, mpk_span_str(there->device));
	else
		mpk_check_put_device(there, out);
}

static const char *libraries(size_t n)
{
	return n == 1 ? "library" : "libraries";
}

/* "does not run on sm_120: 2 of 14 libraries have no code for it" */
static void put_one_device(const struct mpk_check_set *set, size_t i, struct mpk_strbuf *out)
{
	const struct mpk_check_set_device *d = &set->devices[i];
	bool has_driver = set->places[i].cuda.driver.major && set->places[i].device;
	size_t all = d->yes + d->part + d->no;

	mpk_strbuf_puts(out, is_missed(d) ? "does not run on " : "runs on ");
	mpk_check_put_device(&set->places[i], out);
	mpk_strbuf_puts(out, !is_missed(d) && d->part ? " in part: " : ": ");
	if (!all) {
		mpk_strbuf_puts(out,
				d->any ? "code for no GPU in particular, which its driver compiles"
				       : "no file has code for GPUs of its maker");
		return;
	}
	if (d->no)
		mpk_strbuf_printf(out,
				  has_driver ? "%zu of %zu %s %s nothing that runs there"
					     : "%zu of %zu %s %s no code for it",
				  d->no, all, libraries(all), d->no == 1 ? "has" : "have");
	if (d->part)
		mpk_strbuf_printf(out, "%s%zu of %zu %s %s kernels that do not run there",
				  d->no ? ", " : "", d->part, all, libraries(all),
				  d->part == 1 ? "has" : "have");
	if (!d->no && !d->part)
		mpk_strbuf_printf(out, "%zu of %zu %s %s code for it", d->yes, all, libraries(all),
				  all == 1 ? "has" : "have");
	if (d->by_ptx)
		mpk_strbuf_printf(out, ", %zu as PTX alone", d->by_ptx);
	if (d->spared)
		mpk_strbuf_printf(out, "; %zu other%s %s for other GPUs alone", d->spared,
				  d->spared == 1 ? "" : "s", d->spared == 1 ? "is" : "are");
}

/* "does not run on sm_50, gfx90a; runs on sm_90" */
static void put_devices(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	static const char *const heads[] = { "does not run on ", "runs in part on ", "runs on ",
					     "has no code for " };
	size_t parts = 0;

	for (size_t sort = 0; sort < MPK_ARRAY_COUNT(heads); sort++) {
		size_t n = 0;

		for (size_t i = 0; i < set->device_count; i++) {
			const struct mpk_check_set_device *d = &set->devices[i];
			size_t is = is_missed(d) ? 0 : d->part ? 1 : d->yes || d->any ? 2 : 3;

			if (is != sort)
				continue;
			mpk_strbuf_puts(out, n ? ", " : parts ? "; " : "");
			mpk_strbuf_puts(out, n++ ? "" : heads[sort]);
			put_place(set, i, out);
		}
		parts += n > 0;
	}
}

static void put_also(const char *one, const char *many, size_t n, bool *first,
		     struct mpk_strbuf *out)
{
	if (!n)
		return;
	mpk_strbuf_puts(out, *first ? "" : "; ");
	mpk_put_count(out, n, "file");
	mpk_strbuf_puts(out, n == 1 ? one : many);
	*first = false;
}

void mpk_check_set_put_verdict(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	bool asked = false, first = true;
	size_t loads = count_files(set, MPK_CHECK_LOADS), open = count_files(set, MPK_CHECK_OPEN);

	for (size_t i = 0; i < set->device_count; i++)
		asked |= set->devices[i].yes || set->devices[i].part || set->devices[i].no ||
			 set->devices[i].any || set->devices[i].other;
	if (has_nothing(set)) {
		mpk_strbuf_puts(out, "nothing checked: ");
		mpk_strbuf_puts(out, is_asked(&set->places[0])
					     ? "no file has code for particular GPUs"
					     : "no file has anything for --only to look at");
		first = false;
	} else if (asked && set->device_count == 1) {
		put_one_device(set, 0, out);
		first = false;
	} else if (asked) {
		put_devices(set, out);
		first = false;
	}
	put_also(" does not load", " do not load", count_files(set, MPK_CHECK_REFUSED), &first,
		 out);
	put_also(" registers GPU code of which a runtime does not get all",
		 " register GPU code of which a runtime does not get all",
		 count_files(set, MPK_CHECK_UNREGISTERED), &first, out);
	put_also(" has functions that fail when called", " have functions that fail when called",
		 count_files(set, MPK_CHECK_CALLS), &first, out);
	put_also(" breaks the policy", " break the policy", count_files(set, MPK_CHECK_POLICY),
		 &first, out);
	if (!asked) {
		put_also(" loads", " load", loads, &first, out);
		put_also(" with nothing found against it", " with nothing found against them", open,
			 &first, out);
		put_also(" is to be linked into a program", " are to be linked into a program",
			 count_files(set, MPK_CHECK_SYSTEM), &first, out);
	}
}

/* --- text ------------------------------------------------------------------------------------------- */

static void put_device_lines(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < set->device_count && set->device_count > 1; i++) {
		const struct mpk_check_set_device *d = &set->devices[i];
		size_t all = d->yes + d->part + d->no;

		mpk_strbuf_puts(out, "  ");
		put_place(set, i, out);
		if (!all)
			mpk_strbuf_puts(
				out,
				d->any ? ": code for no GPU in particular, which its driver compiles"
				: d->other ? ": no file has code for GPUs of its maker"
					   : ": no file has code for particular GPUs");
		else
			mpk_strbuf_printf(out, ": %zu of %zu %s", d->yes, all, libraries(all));
		if (d->part)
			mpk_strbuf_printf(out, ", %zu in part", d->part);
		if (d->by_ptx)
			mpk_strbuf_printf(out, ", %zu as PTX alone", d->by_ptx);
		if (d->spared)
			mpk_strbuf_printf(out, ", %zu for other GPUs alone", d->spared);
		if (d->first) {
			mpk_strbuf_puts(out, "; first ");
			mpk_escape(out, mpk_span_str(short_name(set, d->first->file)));
			if (d->first->kernel) {
				mpk_strbuf_puts(out, ", kernel ");
				mpk_escape(out, mpk_span_str(d->first->kernel));
			}
		}
		mpk_strbuf_putc(out, '\n');
	}
}

/* Fills one row of the table. */
static void put_row(const struct mpk_check_set *set, size_t i, struct mpk_table *t)
{
	const struct mpk_check_set_item *item = &set->items[i];
	const struct mpk_check_gpu_counts *n = &item->counts;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, device = { 0 };
	char missing[96];

	mpk_escape(&name, mpk_span_str(short_name(set, item->file)));
	put_place(set, item->place % set->device_count, &device);
	mpk_table_row(t);
	mpk_table_cell(t, "%s", mpk_strbuf_text(&name));
	if (set->device_count > 1)
		mpk_table_cell(t, "%s", mpk_strbuf_text(&device));
	mpk_table_cell(t, "%s", item->fit == MPK_CHECK_FIT_NO ? "no" : "partly");
	mpk_table_cell(t, "%zu of %zu", n->units_run, n->units);
	mpk_table_cell(t, "%zu of %zu", n->kernels_run, n->kernels);
	if (item->targets)
		mpk_table_cell(t, "only %s",
			       mpk_escape_to(mpk_span_str(item->targets), missing, sizeof missing));
	else
		mpk_table_cell(t, "a newer driver");
	t->failed |= name.failed || device.failed;
}

static void put_table(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	struct mpk_table t = { 0 };
	size_t shown = 0, all = 0, yes = 0;

	mpk_table_row(&t);
	mpk_table_cell(&t, "library");
	if (set->device_count > 1)
		mpk_table_cell(&t, "device");
	mpk_table_cell(&t, "runs");
	mpk_table_cell(&t, "of its containers");
	mpk_table_cell(&t, "of its kernels");
	mpk_table_cell(&t, "missing");
	for (size_t i = 0; i < set->count; i++) {
		const struct mpk_check_set_item *item = &set->items[i];
		bool lacks = item->fit == MPK_CHECK_FIT_NO || item->fit == MPK_CHECK_FIT_PART;

		if (item->place >= set->device_count)
			continue;
		yes += item->fit == MPK_CHECK_FIT_YES && decides(set, i);
		if (!lacks || !decides(set, i))
			continue;
		if (all++ < ROWS || set->all) {
			put_row(set, i, &t);
			shown++;
		}
	}
	if (shown)
		mpk_table_print(&t, "  ", out);
	out->failed |= t.failed;
	mpk_table_fini(&t);
	if (all > shown)
		mpk_strbuf_printf(out, "  and %zu more: --all\n", all - shown);
	if (all && yes)
		mpk_strbuf_printf(out, "  %zu other%s: yes\n", yes, yes == 1 ? "" : "s");
}

/* Names the library that a program would load at the target, instead of its alternatives. */
static void put_chosen(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	size_t lines = 0;

	for (size_t i = 0; i < set->count && (lines < CAUSES || set->all); i++) {
		const struct mpk_check_set_item *item = &set->items[i];

		if (!item->others || item->fit != MPK_CHECK_FIT_YES)
			continue;
		mpk_strbuf_puts(out, "  ");
		mpk_escape(out, mpk_span_str(short_name(set, item->file)));
		mpk_strbuf_printf(out, " is the best of %zu releases for ", item->others + 1);
		put_place(set, item->place % set->device_count, out);
		mpk_strbuf_putc(out, '\n');
		lines++;
	}
}

/* Lists libraries that the program does not need at the target. */
static void put_spared(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < set->device_count; i++) {
		const struct mpk_check_set_device *d = &set->devices[i];
		bool is_part =
			set->places[i].allow_part && d->first_spared && !d->first_spared->is_extra;

		if (!d->first_spared)
			continue;
		mpk_strbuf_puts(out, "  warning: ");
		mpk_strbuf_printf(out, "%zu %s", d->spared, libraries(d->spared));
		mpk_strbuf_puts(out, d->spared == 1 ? " has nothing for " : " have nothing for ");
		put_place(set, i, out);
		mpk_strbuf_puts(out, d->spared == 1 ? ", and the program must do without it: "
						    : ", and the program must do without them: ");
		mpk_escape(out, mpk_span_str(short_name(set, d->first_spared->file)));
		mpk_strbuf_puts(out, " is only for ");
		mpk_escape(out, mpk_span_str(d->first_spared->targets ? d->first_spared->targets
								      : "others"));
		mpk_strbuf_puts(out, is_part ? "\n" : "; --strict makes that an error\n");
	}
}

/* Sorts errors first, then by the number of files. */
static int by_weight(const void *a, const void *b)
{
	const struct mpk_check_set_cause *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return x->files != y->files ? (x->files > y->files ? -1 : 1) : strcmp(x->text, y->text);
}

/* Writes a message without the leading name of the set in file names. */
static void put_shortened(const struct mpk_check_set *set, const char *text, struct mpk_strbuf *out)
{
	const char *at;

	for (; *set->name && (at = strstr(text, set->name)) != NULL; text = short_name(set, at))
		mpk_strbuf_put(out, text, (size_t)(at - text));
	mpk_strbuf_puts(out, text);
}

/* Whether some files do not load because the target lacks a library. */
static bool is_of_system(const struct mpk_check_set *set)
{
	for (size_t i = 0; i < set->cause_count; i++)
		if (set->causes[i].severity == MPK_ERROR && set->causes[i].files &&
		    strcmp(set->causes[i].check, "library") == 0)
			return true;
	return false;
}

static void put_causes(const struct mpk_check_set *set, struct mpk_strbuf *out)
{
	size_t shown = 0, all = 0;

	if (set->cause_count)
		qsort(set->causes, set->cause_count, sizeof *set->causes, by_weight);
	for (size_t i = 0; i < set->cause_count; i++) {
		const struct mpk_check_set_cause *c = &set->causes[i];

		if (c->severity == MPK_NOTE || !c->files || (all++ >= CAUSES && !set->all))
			continue;
		mpk_strbuf_printf(out, "  %s: ", mpk_severity_name(c->severity));
		if (*c->path) {
			mpk_escape(out, mpk_span_str(c->path));
			mpk_strbuf_puts(out, ": ");
		}
		put_shortened(set, c->text, out);
		if (c->symbols) {
			mpk_strbuf_puts(out, "; ");
			mpk_put_count(out, c->symbols, "symbol");
			mpk_strbuf_printf(out, " %s%s", c->symbols == 1 ? "is" : "are",
					  MPK_CHECK_NOWHERE_ELSE);
		}
		mpk_strbuf_printf(out, " [%s]: ", c->check);
		if (c->files > 1) {
			mpk_put_count(out, c->files, "file");
			mpk_strbuf_puts(out, ", first ");
		}
		mpk_escape(out, mpk_span_str(short_name(set, c->first)));
		mpk_strbuf_putc(out, '\n');
		shown++;
	}
	if (all > shown)
		mpk_strbuf_printf(out, "  and %zu more reasons: --all\n", all - shown);
	if (is_asked(&set->places[0]) && !set->places[0].only && is_of_system(set))
		mpk_strbuf_puts(
			out, "  --only device leaves out what is missing only on this machine\n");
}

static void check_set_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_check_set *set = what;

	(void)style;
	mpk_escape(out, mpk_span_str(set->name));
	mpk_strbuf_puts(out, ": ");
	mpk_check_set_put_verdict(set, out);
	mpk_strbuf_putc(out, '\n');
	put_device_lines(set, out);
	if (!set->is_short)
		put_table(set, out);
	put_spared(set, out);
	put_chosen(set, out);
	if (!set->is_short)
		put_causes(set, out);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

/* The verdict of a package on one device. If there is no GPU code at all, nothing is printed. */
static const char *coverage_word(const struct mpk_check_set_device *d)
{
	return d->no      ? "lacks-code"
	       : d->part  ? "runs-in-part"
	       : d->yes   ? "runs"
	       : d->any   ? "portable"
	       : d->other ? "other-maker"
			  : "none";
}

static void check_set_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_check_set *set = what;
	struct mpk_json_at *list = mpk_json_array(j, at, "devices"), *o, *first;

	for (size_t i = 0; i < set->device_count; i++) {
		const struct mpk_check_set_device *d = &set->devices[i];

		if (!d->name)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "device", d->name);
		mpk_json_text(j, o, "verdict", coverage_word(d));
		mpk_json_u64(j, o, "covered", d->yes);
		mpk_json_u64(j, o, "by_ptx", d->by_ptx);
		mpk_json_u64(j, o, "partly", d->part);
		mpk_json_u64(j, o, "lacking", d->no);
		mpk_json_u64(j, o, "spared", d->spared);
		if (!d->first) {
			mpk_json_null(j, o, "first");
			continue;
		}
		first = mpk_json_object(j, o, "first");
		mpk_json_text(j, first, "file", d->first->file);
		mpk_json_text(j, first, "place", d->first->path);
		mpk_json_text(j, first, "kernel", d->first->kernel);
	}
}

const struct mpk_answer mpk_answer_check_set = { .text = check_set_text, .json = check_set_json };
