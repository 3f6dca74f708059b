/* SPDX-License-Identifier: Apache-2.0 */
/* IR is checked before code is generated: back ends crash on what the verifier refuses. */
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "llvm/plugin/session.h"

static bool is_bitcode(struct mpk_span bytes)
{
	static const uint8_t raw[] = { 'B', 'C', 0xc0, 0xde },
			     wrapped[] = { 0xde, 0xc0, 0x17, 0x0b };

	return bytes.len >= 4 &&
	       (memcmp(bytes.data, raw, 4) == 0 || memcmp(bytes.data, wrapped, 4) == 0);
}

/* LLVM says "NAME:LINE:COLUMN: error: TEXT\n<the line>\n   ^\n"; LINE and COLUMN are kept,
 * TEXT becomes the sentence. */
static enum mpk_code fail_parse(const char *name, const char *message, struct mpk_error *err)
{
	size_t skip = strlen(name);
	const char *text = message;
	unsigned long line = 0, column = 0;

	if (strncmp(message, name, skip) == 0 && message[skip] == ':') {
		char *end;

		line = strtoul(message + skip + 1, &end, 10);
		if (*end == ':')
			column = strtoul(end + 1, &end, 10);
		text = strncmp(end, ": error: ", 9) == 0 ? end + 9 : end;
	}
	struct mpk_span sentence = mpk_span_of(text, strcspn(text, "\n"));
	return mpk_fail_line(err, MPK_E_SYNTAX, (uint32_t)line, (uint32_t)column, "LLVM %s: %s",
			     mpk_session_version(), MPK_QUOTE(sentence));
}

static enum mpk_code parse(struct mpk_session *s, const struct mpk_llvm_source *source,
			   struct mpk_error *err)
{
	/* The text parser needs a NUL behind the bytes, which only the copy has. The parser
	 * takes the buffer over. */
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
		(const char *)source->bytes.data, source->bytes.len, source->name);
	char *message = NULL;

	if (!LLVMParseIRInContext(s->context, buffer, &s->module, &message) && !s->failed)
		return MPK_OK;

	enum mpk_code code;
	if (!is_bitcode(source->bytes))
		code = fail_parse(source->name, message ? message : s->text, err);
	else
		code = mpk_fail(err, MPK_E_CORRUPT, "bitcode that LLVM %s cannot read: %s",
				mpk_session_version(),
				MPK_QUOTE(mpk_span_str(s->failed ? s->text : message)));
	if (message)
		LLVMDisposeMessage(message);
	return code;
}

static enum mpk_code verify(struct mpk_session *s, struct mpk_error *err)
{
	char *message = NULL;
	enum mpk_code code = MPK_OK;

	if (LLVMVerifyModule(s->module, LLVMReturnStatusAction, &message))
		code = mpk_fail(err, MPK_E_CORRUPT, "the module is not valid IR: %s",
				MPK_QUOTE(mpk_span_of(message, strcspn(message, "\n"))));
	LLVMDisposeMessage(message);
	return code;
}

static size_t arch_length(const char *triple)
{
	return strcspn(triple, "-");
}

/* An IR module without a triple is for any machine of its data layout. */
static enum mpk_code set_target(struct mpk_session *s, struct mpk_error *err)
{
	const char *own = LLVMGetTarget(s->module);
	char *normal = LLVMNormalizeTargetTriple(own);
	bool same = !*own || (arch_length(normal) == arch_length(s->triple) &&
			      strncmp(normal, s->triple, arch_length(normal)) == 0);

	LLVMDisposeMessage(normal);
	if (!same)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"this IR is for '%s', the package for '%s'; compile the IR for that target or set [package] target",
			MPK_QUOTE(mpk_span_str(own)), MPK_QUOTE(mpk_span_str(s->triple)));
	LLVMSetTarget(s->module, s->triple);
	if (!*LLVMGetDataLayoutStr(s->module)) {
		LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);

		LLVMSetModuleDataLayout(s->module, layout);
		LLVMDisposeTargetData(layout);
	}
	return MPK_OK;
}

static enum mpk_code compile(struct mpk_session *s, const struct mpk_llvm_source *source,
			     struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(mpk_session_open(s, source->triple, err));
	MPK_TRY(parse(s, source, err));
	MPK_TRY(verify(s, err));
	MPK_TRY(set_target(s, err));
	return mpk_session_emit(s, arena, out, err);
}

enum mpk_code mpk_llvm_compile(const struct mpk_llvm_source *source, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_session s = { 0 };
	enum mpk_code code = compile(&s, source, arena, out, err);

	mpk_session_close(&s);
	return code;
}
