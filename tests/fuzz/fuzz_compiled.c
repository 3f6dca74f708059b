/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_compiled - a library as one with compiled functions of the Relax VM: what its code is read back as; and the
 * global functions that its initializers register
 *
 * Each function of the library is taken for a compiled one, so that its blob, which has a target of its own, does not
 * matter here. */
#include "elf/image.h"
#include "elf/instructions.h"
#include "elf/wants.h"
#include "fuzz.h"
#include "hostcode/compiled.h"
#include "hostcode/registered.h"
#include "program/model.h"

enum { FUNCTIONS = 16, PREFIX_BYTES = 9 }; /* "__vmtir__" */

/* Each instruction ends in the code, and so does none in fewer bytes. */
static void decode_all_instructions(struct mpk_span code)
{
	struct mpk_x86 i;

	while (mpk_x86_read(code, &i)) {
		FUZZ_REQUIRE(i.len > 0 && i.len <= code.len);
		FUZZ_REQUIRE(i.map < 4 && i.reg < 16 && i.rm < 16 && i.imm_bytes <= 8);
		FUZZ_REQUIRE(!mpk_x86_read(mpk_span_of(code.data, i.len - 1), &i));
		(void)mpk_x86_read(code, &i);
		(void)fuzz_take(&code, i.len);
	}
}

static void check_byte_code_made(const struct mpk_relax *x, const struct mpk_relax *read)
{
	struct mpk_relax_instr instr;

	FUZZ_REQUIRE(read->func_count >= x->func_count);
	for (size_t i = 0; i < read->func_count; i++) {
		const struct mpk_relax_func *f = &read->funcs[i];

		fuzz_touch(f->name);
		if (f->kind != MPK_RELAX_VM)
			continue;
		FUZZ_REQUIRE(f->start >= 0 && f->start <= f->end);
		FUZZ_REQUIRE((uint64_t)f->end <= mpk_relax_instr_count(read));
	}
	for (size_t i = 0; i < mpk_relax_instr_count(read); i++) {
		FUZZ_REQUIRE(mpk_relax_instr(read, i, &instr, NULL) == MPK_OK);
		for (size_t k = 0; k < instr.arg_count; k++)
			(void)mpk_relax_arg(&instr, k);
	}
}

static void read_compiled_functions(const struct mpk_image *image, const struct mpk_wants *w,
				    struct mpk_arena *arena)
{
	static const struct mpk_relax_const one = { .kind = MPK_RELAX_INT, .u.i = 1 };
	struct mpk_relax_func funcs[FUNCTIONS];
	struct mpk_relax x = { .funcs = funcs, .consts = &one, .const_count = 1 }, read;
	struct mpk_signature *signatures;
	size_t count;

	for (size_t i = 0; i < image->function_count && i < FUNCTIONS; i++) {
		struct mpk_span name = mpk_span_str(image->functions[i].name);

		(void)fuzz_take(&name, PREFIX_BYTES);
		funcs[x.func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_TIR,
								 .name = name,
								 .num_args = (int64_t)i % 4,
								 .register_file_size = 4 };
	}
	if (mpk_compiled_read(&x, image, w, arena, &read, NULL) != MPK_OK)
		return;
	check_byte_code_made(&x, &read);
	signatures = mpk_arena_array(arena, read.func_count + 1, sizeof *signatures);
	if (signatures)
		(void)!mpk_relax_signatures(&read, arena, signatures, &count, NULL);
}

static void read_registered_functions(const struct mpk_elf *elf, struct mpk_arena *arena)
{
	struct mpk_global_names names;

	if (mpk_registered_read(elf, arena, &names, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < names.count; i++) {
		FUZZ_REQUIRE(names.names[i].len > 0);
		fuzz_touch(names.names[i]);
		for (size_t k = 0; k < i && i < 64; k++)
			FUZZ_REQUIRE(!mpk_span_equal(names.names[i], names.names[k]));
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	MPK_CLEANUP(mpk_wants_fini) struct mpk_wants wants = { 0 };
	struct mpk_image image;

	decode_all_instructions(bytes);
	if (mpk_image_open(bytes, NULL, arena, &image, NULL) != MPK_OK ||
	    image.container != MPK_CONTAINER_ELF_SO || mpk_elf_open(bytes, 0, &elf, NULL) != MPK_OK)
		return;
	read_registered_functions(&elf, arena);
	if (mpk_wants_read(&elf, &wants, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < wants.reach.count; i++)
		decode_all_instructions(mpk_reach_code(&wants.reach, i));
	read_compiled_functions(&image, &wants, arena);
}
