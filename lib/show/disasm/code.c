/* SPDX-License-Identifier: Apache-2.0 */
/* The question is a head and the bytes of a function; the answer a row an instruction. The helper has
 * looked at hostile bytes: its rows are read as bytes from a stranger. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "disasm/internal/disassemblers.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"
#include "llvm/open.h"

enum { MEMORY_BYTES = 1 << 30, CPU_SECONDS = 120 };

struct question {
	char triple[48], cpu[48], features[128];
	uint64_t address;
	uint32_t step;
};

struct row {
	uint64_t address, target;
	uint32_t bytes;
	uint16_t text_bytes;
	uint8_t has_text, has_target;
};

void mpk_disasm_limit(void)
{
	const struct rlimit memory = { MEMORY_BYTES, MEMORY_BYTES };
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS }, core = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_CPU, &cpu);
	if (!MPK_IS_SANITIZED)
		(void)setrlimit(RLIMIT_DATA, &memory);
}

/* --- in the helper ---------------------------------------------------------------------------- */

static void put_row(const struct mpk_llvm_instruction *i, void *arg)
{
	size_t len = i->text ? strlen(i->text) : 0;
	struct row row = {
		.address = i->address,
		.target = i->target,
		.bytes = (uint32_t)i->bytes,
		.text_bytes = (uint16_t)(len < UINT16_MAX ? len : UINT16_MAX),
		.has_text = i->text != NULL,
		.has_target = i->has_target,
	};

	mpk_strbuf_put(arg, (const char *)&row, sizeof row);
	mpk_strbuf_put(arg, i->text, row.text_bytes);
}

/* Before the first question is looked at: what it holds may take the process over. */
static enum mpk_code open_llvm(const struct mpk_disasm_setup *setup, const struct mpk_llvm **out,
			       struct mpk_error *err)
{
	static const struct mpk_llvm *llvm;
	const struct mpk_sandbox nothing = { 0 };

	if (!llvm) {
		mpk_disasm_limit();
		if (mpk_llvm_open(setup->llvm, &llvm, NULL) != MPK_OK)
			return mpk_fail(err, MPK_E_LOAD,
					"machine code is disassembled by LLVM 19, which cannot be "
					"loaded (%s); install libLLVM 19",
					MPK_QUOTE(mpk_span_str(setup->llvm)));
		if (!setup->no_sandbox && !MPK_IS_SANITIZED)
			(void)mpk_sandbox_enter(&nothing);
	}
	*out = llvm;
	return MPK_OK;
}

enum mpk_code mpk_disasm_answer_code(void *data, struct mpk_span bytes, struct mpk_strbuf *answer,
				     struct mpk_error *err)
{
	const struct mpk_llvm *llvm;
	struct question q;

	if (bytes.len < sizeof q)
		return mpk_fail(err, MPK_E_INTERNAL, "a question without its head");
	memcpy(&q, bytes.data, sizeof q);
	q.triple[sizeof q.triple - 1] = q.cpu[sizeof q.cpu - 1] = '\0';
	q.features[sizeof q.features - 1] = '\0';
	MPK_TRY(open_llvm(data, &llvm, err));
	const struct mpk_llvm_code code = {
		.triple = q.triple,
		.cpu = q.cpu,
		.features = q.features,
		.address = q.address,
		.bytes = mpk_span_of(bytes.data + sizeof q, bytes.len - sizeof q),
		.step = q.step ? q.step : 1,
	};
	return llvm->disassemble(&code, put_row, answer, err);
}

/* --- who asks ------------------------------------------------------------------------------------ */

struct reader {
	struct mpk_span code;
	uint64_t address; /* of its first byte */
	struct mpk_arena *arena;
	struct mpk_llvm_instruction *list; /* malloc'ed while it grows */
	size_t count, cap;
};

static void reader_fini(struct reader *r)
{
	free(r->list);
}

/* Texts end where the next row begins: each gets its own end. */
static const char *safe_text(struct mpk_arena *arena, struct mpk_span text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_escape_lines(&out, text);
	return out.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&out), out.len);
}

static const char *byte_text(struct mpk_arena *arena, struct mpk_span bytes)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < bytes.len; i++)
		mpk_strbuf_printf(&out, "%s0x%02x", i ? ", " : ".byte\t", bytes.data[i]);
	return out.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&out), out.len);
}

static enum mpk_code read_row(struct reader *r, struct mpk_cursor *c, struct mpk_error *err)
{
	struct mpk_llvm_instruction *i;
	struct mpk_span head, text, bytes;
	struct row row;

	MPK_TRY(mpk_read_bytes(c, "row", sizeof row, &head, err));
	memcpy(&row, head.data, sizeof row);
	MPK_TRY(mpk_read_bytes(c, "text", row.text_bytes, &text, err));
	if (row.address < r->address || !row.bytes ||
	    !mpk_span_sub(r->code, row.address - r->address, row.bytes, &bytes))
		return mpk_fail(err, MPK_E_TOOL, "LLVM's answer makes no sense");
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->list, &r->cap, r->count + 1, sizeof *r->list), err);
	i = &r->list[r->count++];
	*i = (struct mpk_llvm_instruction){
		.address = row.address,
		.bytes = row.bytes,
		.text = row.has_text ? safe_text(r->arena, text) : byte_text(r->arena, bytes),
		.has_target = row.has_target == 1,
		.target = row.target,
	};
	MPK_TRY_ALLOC(i->text, err);
	return MPK_OK;
}

enum mpk_code mpk_disasm_code(struct mpk_disasm *d, const struct mpk_llvm_code *code,
			      struct mpk_arena *arena, struct mpk_llvm_instruction **out,
			      size_t *count, struct mpk_error *err)
{
	struct question q = { .address = code->address, .step = code->step };
	MPK_CLEANUP(reader_fini)
	struct reader r = { code->bytes, code->address, arena, NULL, 0, 0 };
	struct mpk_llvm_instruction *list;
	struct mpk_span parts[2] = { { 0 }, code->bytes };
	struct mpk_cursor c;

	(void)snprintf(q.triple, sizeof q.triple, "%s", code->triple);
	(void)snprintf(q.cpu, sizeof q.cpu, "%s", code->cpu);
	(void)snprintf(q.features, sizeof q.features, "%s", code->features);
	parts[0] = mpk_span_of(&q, sizeof q);
	MPK_TRY(mpk_helper_ask(&d->llvm, parts, 2, &d->answer, err));
	c = mpk_cursor_of(mpk_span_of(d->answer.data, d->answer.len), 0, "answer");
	while (mpk_cursor_left(&c))
		MPK_TRY(read_row(&r, &c, err));
	list = mpk_arena_keep(arena, r.list, r.count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	*out = list;
	*count = r.count;
	return MPK_OK;
}
