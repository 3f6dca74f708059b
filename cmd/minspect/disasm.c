/* SPDX-License-Identifier: Apache-2.0 */
/* --disasm: prints the instructions of functions, kernels and byte code. LLVM and vendors' tools
 * are used by helper processes, which start before the sandbox is entered and stay idle until a
 * listing needs them, so a library without such code never loads LLVM. */
#include "disasm/listing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "common/find.h"
#include "minspect/document.h"
#include "part/part.h"
#include "text/escape.h"

/* Static, since the helpers use it as long as they live. */
static struct {
	struct mpk_disasm disasm;
	struct mpk_disasm_setup setup;
	struct mpk_arena arena;
	enum mpk_code code;
	struct mpk_error err;
} state;

enum { PLACES_MAX = 64 };

/* --- where programs may be --------------------------------------------------------------------------------- */

struct places {
	const char **items;
	size_t count;
	bool failed;
};

static void add_place(struct places *p, const char *folder, size_t len, const char *rest)
{
	const char *path = NULL;

	if (!folder || !len || p->count + 1 == PLACES_MAX)
		return;
	path = mpk_arena_printf(&state.arena, "%.*s/%s", (int)len, folder, rest);
	p->failed |= !path;
	if (path)
		p->items[p->count++] = path;
}

static void add_variable(struct places *p, const char *variable, const char *rest)
{
	const char *value = getenv(variable);

	if (value)
		add_place(p, value, strlen(value), rest);
}

static struct places places_of(const char *program, bool cuda)
{
	struct places p = { .items = mpk_arena_array(&state.arena, PLACES_MAX, sizeof *p.items) };
	const char *path = getenv("PATH");

	p.failed = !p.items;
	if (p.failed)
		return p;
	if (cuda) {
		add_variable(&p, "CUDA_HOME", "bin/nvdisasm");
		add_variable(&p, "CUDA_PATH", "bin/nvdisasm");
	}
	while (path && *path) {
		size_t len = strcspn(path, ":");

		/* Searches PATH like a shell. */
		add_place(&p, path, len, program);
		path += len + (path[len] == ':');
	}
	if (cuda)
		add_place(&p, "/usr/local/cuda", strlen("/usr/local/cuda"), "bin/nvdisasm");
	return p;
}

void minspect_disasm_prepare(const struct minspect_options *o)
{
	struct places nvidia, spirv;

	if (!o->disasm && !o->html && (!o->diff || o->ignore))
		return;
	nvidia = places_of("nvdisasm", true);
	spirv = places_of("spirv-dis", false);
	state.setup.llvm = mpk_libexec_find(&state.arena, "mpack/llvm.so");
	state.setup.tools[MPK_DISASM_NVDISASM] = nvidia.items;
	state.setup.tools[MPK_DISASM_SPIRV_DIS] = spirv.items;
	state.setup.no_sandbox = mpk_common.no_sandbox;
	if (nvidia.failed || spirv.failed || !state.setup.llvm)
		state.code = mpk_fail_nomem(&state.err);
	else
		state.code = mpk_disasm_start(&state.setup, &state.disasm, &state.err);
}

enum mpk_code minspect_disasm_take(struct mpk_disasm **out, struct mpk_error *err)
{
	if (state.code != MPK_OK) {
		*err = state.err;
		return state.code;
	}
	*out = &state.disasm;
	return MPK_OK;
}

void minspect_disasm_end(void)
{
	mpk_disasm_stop(&state.disasm);
	mpk_arena_fini(&state.arena);
}

/* --- the action ------------------------------------------------------------------------------------------------ */

/* Listings that were not requested by name are cut to MINSPECT_LINES. */
struct disassembling {
	size_t listings;
	size_t room; /* number of lines that may still be printed */
	bool is_full;
};

/* Keeps the lines that may still be printed. */
static void cut_listing(struct disassembling *d, struct mpk_strbuf *out)
{
	size_t keep = 0;

	while (keep < out->len && d->room) {
		const char *end = memchr(out->data + keep, '\n', out->len - keep);

		keep = end ? (size_t)(end + 1 - out->data) : out->len;
		d->room -= end != NULL;
	}
	d->is_full = keep < out->len;
	out->len = keep;
}

/* Each listing is written at once: together they may exceed memory. */
static enum mpk_code disasm_put(const struct mpk_listing *listing, void *arg, struct mpk_error *err)
{
	struct minspect_look *l = arg;
	struct disassembling *d = l->user;

	if (l->json) {
		mpk_answer_listing.json(listing, l->json, mpk_json_object(l->json, l->list, NULL));
		return MPK_OK;
	}
	mpk_strbuf_puts(l->out, d->listings++ && !listing->continues ? "\n" : "");
	mpk_answer_listing.text(listing, minspect_style(), l->out);
	MPK_TRY(mpk_strbuf_status(l->out, err));
	cut_listing(d, l->out);
	if (minspect_write(l->out) != MPK_EXIT_OK)
		return mpk_fail(err, MPK_E_IO, "cannot write to standard output");
	l->out->len = 0;
	/* ends the walk, since disassembling a whole library takes minutes */
	return d->is_full ? mpk_fail(err, MPK_E_RANGE, "the rest is not shown") : MPK_OK;
}

static int disassemble(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_disasm_sink sink = { disasm_put, l };
	const struct disassembling *d = l->user;
	struct mpk_error err = { 0 };
	const char *name = *o->disasm ? o->disasm : NULL;
	enum mpk_code code;

	if (d->is_full)
		return MPK_EXIT_OK;
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		l->list = mpk_json_array(l->json, l->at, "listings");
	}
	code = name ? mpk_part_symbol(l->view, name, &l->file->arena, &name, &err) : MPK_OK;
	if (code == MPK_OK)
		code = mpk_view_disasm(l->view, name, &state.disasm, &sink, &err);
	if (code == MPK_OK || d->is_full)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, l->file->name);
	if (l->json)
		mpk_json_error(l->json, l->at, "error", &err);
	return mpk_diag_error(&err);
}

static void disasm_sum(const struct minspect_options *o, struct minspect_look *l)
{
	const struct disassembling *d = l->user;

	if (d->is_full)
		mpk_strbuf_printf(
			l->out,
			"\nand more: --all; one function or kernel: minspect disasm NAME %s; "
			"their names: minspect functions %s\n",
			o->file_count == 1 ? MPK_QUOTE(mpk_span_str(o->files[0])) : "FILE",
			o->file_count == 1 ? MPK_QUOTE(mpk_span_str(o->files[0])) : "FILE");
}

int minspect_disasm(const struct minspect_options *o)
{
	static const struct minspect_action action = { .doing = "disassembling",
						       .look = disassemble,
						       .sum = disasm_sum };
	struct disassembling d = { .room = minspect_is_whole(o) || *o->disasm ? SIZE_MAX
									      : MINSPECT_LINES };
	int status =
		state.code == MPK_OK ? minspect_each(o, &action, &d) : mpk_diag_error(&state.err);

	minspect_disasm_end();
	return status;
}

/* Whether a word names a file or a member of one: "lib.a(devc.o)", "app.whl!/lib.so". */
static bool is_file(const char *name)
{
	struct minspect_file f = { .name = name };
	const char *path, *inner;
	/* In "scale(float*, int)" the text in front is not a file. */
	char *archive = strndup(name, strcspn(name, "("));
	bool is = !archive || access(archive, F_OK) == 0 || strcmp(name, "-") == 0 ||
		  access(name, F_OK) == 0;

	free(archive);
	if (is || minspect_zip_split(&f, &path, &inner, NULL) != MPK_OK)
		is = true;
	else
		is = inner && access(path, F_OK) == 0;
	mpk_arena_fini(&f.arena);
	return is;
}

void minspect_disasm_take_name(struct minspect_options *o)
{
	/* Only "--disasm NAME FILE", where NAME is not a file, is treated here; --disasm=NAME is
	 * never ambiguous. */
	if (!o->disasm || *o->disasm || o->file_count < 2 || is_file(o->files[0]))
		return;
	o->disasm = o->files[0];
	o->files++;
	o->file_count--;
}
