/* SPDX-License-Identifier: Apache-2.0 */
/* The link line. Its order matters: a blob's object comes after all other objects, so that its
 * section ends with the blob (elf/extend.h), and the user's flags come after that, because a
 * linker takes from a library only what objects before it on the line have asked for. */
#include <string.h>

#include "io/digest.h"
#include "io/mapping.h"
#include "toolchain/toolchain.h"

enum mpk_code mpk_link_hash(const struct mpk_compilation *c, const char *symbol, uint8_t *out,
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };
	uint8_t digest[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_digest_init(&d, MPK_DIGEST_XXH128, err));
	for (size_t i = 0; i < c->source_count; i++) {
		struct mpk_mapping map = { 0 };

		MPK_TRY(mpk_mapping_open(c->objects[i], &map, err));
		enum mpk_code code = mpk_digest_update(&d, map.bytes, err);
		mpk_mapping_close(&map);
		MPK_TRY(code);
	}
	for (size_t i = 0; i < c->tools->ldflags.count; i++)
		MPK_TRY(mpk_digest_update(&d, mpk_span_str(c->tools->ldflags.items[i]), err));
	MPK_TRY(mpk_digest_update(&d, mpk_span_str(symbol), err));
	MPK_TRY(mpk_digest_final(&d, digest, err));
	memcpy(out, digest, MPK_BUILD_ID_BYTES);
	return MPK_OK;
}

/* All members of an archive: nothing refers to the functions that a caller looks up by
 * name, so the linker would leave them out. As .a and .tar output hold them, too. */
static void add_object(struct mpk_argv *v, const struct mpk_toolchain *t, enum mpk_source_kind kind,
		       const char *object)
{
	if (kind != MPK_SOURCE_ARCHIVE) {
		mpk_argv_add(v, object);
	} else if (t->target.format == MPK_OBJECT_MACHO) {
		/* not -Wl: the driver would split a path at its commas */
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, "-force_load");
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, object);
	} else {
		mpk_argv_add(v, "-Wl,--whole-archive");
		mpk_argv_add(v, object);
		mpk_argv_add(v, "-Wl,--no-whole-archive");
	}
}

static bool has_cxx(const struct mpk_compilation *c)
{
	for (size_t i = 0; i < c->source_count; i++)
		if (c->sources[i].kind == MPK_SOURCE_CXX)
			return true;
	return false;
}

enum mpk_code mpk_link_run(struct mpk_compilation *c, const struct mpk_link *l,
			   struct mpk_error *err)
{
	const struct mpk_toolchain *t = c->tools;
	struct mpk_argv v = { .arena = c->arena };
	char digits[MPK_DIGEST_TEXT];

	/* the driver of C++ knows the libraries that its code needs */
	mpk_argv_add_all(&v, has_cxx(c) ? &t->cxx : &t->cc);
	mpk_argv_add(&v, "-shared");
	if (t->target.format == MPK_OBJECT_ELF) {
		mpk_argv_add(&v, "-fPIC");
		mpk_argv_printf(&v, "-Wl,--build-id=0x%s",
				mpk_digest_print(l->id, sizeof l->id, digits));
		if (l->no_undefined)
			mpk_argv_add(&v, "-Wl,--no-undefined");
	}
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, l->out);
	for (size_t i = 0; i < c->source_count; i++)
		add_object(&v, t, c->sources[i].kind, c->objects[i]);
	if (l->last)
		mpk_argv_add(&v, l->last);
	mpk_argv_add_all(&v, &t->ldflags);
	if (v.failed)
		return mpk_fail_nomem(err);
	return mpk_tool_run(c, v.items, "linking", err);
}

enum mpk_code mpk_link_check(const struct mpk_compilation *c, const char *linked,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_target_check(&c->tools->target, map.bytes, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", c->tools->cc.items[0]);
	return code;
}
