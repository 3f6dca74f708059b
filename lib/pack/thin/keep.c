/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - decides which architectures are kept, and which devices would lose all code
 *
 * A word of --keep stands for images and for a device. It selects the images with that name. For
 * the device every container is checked: if the driver finds code for it before thinning but not
 * afterwards, the library would fail on that device. A word of --device-arch stands only for a
 * device; each container keeps the code that the driver takes, so nothing can be missing. */
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "base/num.h"
#include "code/cuda.h"
#include "text/escape.h"
#include "thin/internal/thin.h"

static const char *const cuda_prefixes[] = { "sm_", "compute_", "lto_" };

/* Returns the number in "sm_90a", whose suffix has at most one letter; 0: not an NVIDIA
 * architecture. */
static unsigned cuda_number(struct mpk_span word)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(cuda_prefixes); i++) {
		size_t n = strlen(cuda_prefixes[i]);
		uint64_t sm;

		if (!mpk_span_starts(word, cuda_prefixes[i]))
			continue;
		word = mpk_span_from(word, n);
		if (word.len && (word.data[word.len - 1] == 'a' || word.data[word.len - 1] == 'f'))
			word.len--;
		return mpk_parse_u64(word, &sm) && sm > 0 && sm < 10000 ? (unsigned)sm : 0;
	}
	return 0;
}

static bool is_cuda_word(struct mpk_span word)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(cuda_prefixes); i++)
		if (mpk_span_starts(word, cuda_prefixes[i]))
			return true;
	return false;
}

/* Also accepts a triple such as "spir64", whose images have no architecture. */
enum mpk_code mpk_thin_check_word(const char *option, struct mpk_span word, struct mpk_error *err)
{
	bool digits = word.len > 0, known = digits;

	for (size_t i = 0; i < word.len; i++) {
		uint8_t c = word.data[i];

		known = known && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
				  (i && strchr("_:+-", c)));
		digits = digits && c >= '0' && c <= '9';
	}
	if (!known || digits || (is_cuda_word(word) && !cuda_number(word)))
		return mpk_fail(err, MPK_E_USAGE,
				"%s takes names of architectures such as sm_90, compute_80 or "
				"gfx90a, not '%s'",
				option, MPK_QUOTE(word));
	return MPK_OK;
}

/* "gfx90a" selects that processor with any features, "gfx90a:xnack+" only these features, "spir64"
 * every triple that begins with it. An image of unknown kind is treated like the binary or PTX with
 * its number. */
static bool word_means(struct mpk_span word, const struct mpk_code_target *t)
{
	struct mpk_span name = mpk_span_str(t->name);

	if (mpk_span_equal(word, name))
		return true;
	if ((t->kind == MPK_TARGET_OTHER || t->kind == MPK_TARGET_TILE) && t->sm)
		return cuda_number(word) == t->sm;
	if (is_cuda_word(word) || word.len >= name.len ||
	    memcmp(word.data, name.data, word.len) != 0)
		return false;
	return mpk_span_starts(word, "gfx") ? name.data[word.len] == ':'
					    : name.data[word.len] == '-';
}

static void note_present(struct mpk_thin_report *r, const char *name)
{
	enum { MOST = 4096 }; /* a message shows only some of them */
	char word[48];

	if (r->present.len > MOST)
		return;
	(void)snprintf(word, sizeof word, " %s ", name);
	if (!r->present.len)
		mpk_strbuf_putc(&r->present, ' ');
	if (!strstr(mpk_strbuf_text(&r->present), word))
		mpk_strbuf_puts(&r->present, word + 1);
}

bool mpk_thin_keeps(struct mpk_thin *t, const struct mpk_code_target *target)
{
	bool keeps = t->o->keep_count == 0;

	note_present(t->report, target->name);
	for (size_t i = t->o->device_count; i < t->o->keep_count; i++) {
		if (!word_means(t->o->keep[i], target))
			continue;
		keeps = true;
		if (i < MPK_THIN_USED_WORDS)
			t->report->keep_used |= UINT64_C(1) << i;
	}
	return keeps;
}

/* --- what a device finds ------------------------------------------------------------------- */

static size_t choose_amd(struct mpk_span word, const struct mpk_code_target *targets,
			 const bool *kept, size_t count)
{
	char device[MPK_AMDGPU_TARGET];

	(void)snprintf(device, sizeof device, "%.*s", (int)word.len, (const char *)word.data);
	for (size_t i = 0; i < count; i++)
		if ((!kept || kept[i]) && targets[i].kind == MPK_TARGET_BINARY &&
		    mpk_amdgpu_runs(targets[i].name, device))
			return i;
	return count;
}

enum mpk_code mpk_thin_choose(struct mpk_span word, const struct mpk_code_target *targets,
			      const bool *kept, size_t count, struct mpk_thin_choice *out,
			      struct mpk_error *err)
{
	/* an architecture for linkers is not a device */
	unsigned sm = mpk_span_starts(word, "lto_") ? 0 : cuda_number(word);

	if (sm) {
		/* The driver's rule does not know about removed images, so they get a kind that no device runs. */
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		const struct mpk_cuda_place place = { .sm = sm };
		struct mpk_code_target *left;

		out->before = out->after = mpk_cuda_choose(targets, count, &place);
		if (!kept)
			return MPK_OK;
		left = mpk_arena_keep(&scratch, targets, count, sizeof *left);
		MPK_TRY_ALLOC(left, err);
		for (size_t i = 0; i < count; i++)
			if (!kept[i])
				left[i].kind = MPK_TARGET_OTHER;
		out->after = mpk_cuda_choose(left, count, &place);
		return MPK_OK;
	}
	if (mpk_span_starts(word, "gfx"))
		*out = (struct mpk_thin_choice){ choose_amd(word, targets, NULL, count),
						 choose_amd(word, targets, kept, count) };
	else
		*out = (struct mpk_thin_choice){ count, count };
	return MPK_OK;
}

enum mpk_code mpk_thin_keep_devices(struct mpk_thin *t, const struct mpk_code_target *targets,
				    bool *kept, size_t count, struct mpk_error *err)
{
	for (size_t w = 0; w < t->o->device_count; w++) {
		struct mpk_thin_choice choice;

		MPK_TRY(mpk_thin_choose(t->o->keep[w], targets, NULL, count, &choice, err));
		if (choice.before == count)
			continue;
		kept[choice.before] = true;
		if (w < MPK_THIN_USED_WORDS)
			t->report->keep_used |= UINT64_C(1) << w;
	}
	return MPK_OK;
}

/* Whether nvlink takes the LTO-IR: it is for this architecture or an earlier one. */
static bool links_to(const struct mpk_code_target *t, unsigned sm)
{
	return t->kind == MPK_TARGET_LTO && t->sm && t->sm <= sm;
}

void mpk_thin_keep_links(struct mpk_thin *t, const struct mpk_code_target *targets, bool *kept,
			 size_t count)
{
	for (size_t w = 0; w < t->o->device_count; w++) {
		unsigned sm = cuda_number(t->o->keep[w]);
		size_t ptx = count;
		bool exact = false;

		for (size_t i = 0; i < count; i++) {
			bool links = links_to(&targets[i], sm);

			kept[i] |= links;
			if (links && w < MPK_THIN_USED_WORDS)
				t->report->keep_used |= UINT64_C(1) << w;
			exact |= targets[i].kind == MPK_TARGET_BINARY && targets[i].sm == sm;
			if (targets[i].kind == MPK_TARGET_PTX && targets[i].sm <= sm &&
			    (ptx == count || targets[i].sm > targets[ptx].sm))
				ptx = i;
		}
		if (!exact && ptx < count)
			kept[ptx] = true;
	}
}

size_t mpk_thin_lost_link(struct mpk_span word, const struct mpk_code_target *targets,
			  const bool *kept, size_t count)
{
	unsigned sm = mpk_span_starts(word, "sm_") ? cuda_number(word) : 0;
	size_t lost = count;

	for (size_t i = 0; i < count; i++) {
		if (kept[i] && (links_to(&targets[i], sm) || targets[i].kind != MPK_TARGET_LTO))
			return count;
		if (links_to(&targets[i], sm))
			lost = i;
	}
	return lost;
}

void mpk_thin_miss(struct mpk_thin *t, const char *where, struct mpk_span word, const char *what)
{
	if (t->missing_count++ < MPK_THIN_MISSING_SHOWN) {
		mpk_strbuf_printf(&t->missing, "%s%s has %s for ", t->missing.len ? ", " : "",
				  where, what);
		mpk_escape(&t->missing, word);
	}
}
