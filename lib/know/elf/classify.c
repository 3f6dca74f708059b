/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/classify.h"

#include <string.h>

#include "elf/internal/internal.h"

#define FFI_PREFIX "__tvm_ffi_"

/* Names that share the prefix of functions but are none (tvm-blob(5), SYMBOLS). */
static bool is_ffi_special(const char *name)
{
	size_t prefix;

	return mpk_name_starts(name, FFI_PREFIX MPK_GETTER_METADATA) ||
	       mpk_name_starts(name, FFI_PREFIX MPK_GETTER_DOC) ||
	       mpk_name_starts(name, "__tvm_ffi__cubin_") ||
	       mpk_symbol_suffix(name, "__tvm_ffi__library_bin", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi__library_ctx", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi_library_bin", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi_library_ctx", &prefix);
}

void mpk_marks_add(struct mpk_marks *marks, const struct mpk_symbol *s)
{
	/* pointers that a library defines, or the functions it imports instead */
	static const char *const hybrid[] = { "TVMFFIFunctionCall",
					      "TVMFFIErrorSetRaisedFromCStr" };
	static const char *const legacy[] = { "TVMFuncCall", "TVMAPISetLastError" };
	const char *name = s->name;
	size_t prefix;

	if (s->defined && mpk_name_starts(name, FFI_PREFIX) && !is_ffi_special(name))
		marks->current = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_ffi__library_ctx", &prefix))
		marks->current = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_ffi_library_ctx", &prefix))
		marks->hybrid = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_module_ctx", &prefix))
		marks->legacy = true;
	if (s->defined && strcmp(name, "__tvm_main__") == 0)
		marks->tvm = true;

	bool pointer = s->defined && mpk_name_starts(name, "__TVM");
	if (!pointer && (s->defined || !mpk_name_starts(name, "TVM")))
		return;
	name += pointer ? 2 : 0;
	marks->hybrid |= mpk_name_is_one_of(name, hybrid, MPK_ARRAY_COUNT(hybrid));
	marks->legacy |= mpk_name_is_one_of(name, legacy, MPK_ARRAY_COUNT(legacy));
	marks->tvm |= pointer || mpk_name_starts(name, "TVMBackend");
}

bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len)
{
	size_t n = strlen(name), m = strlen(suffix);

	if (n < m || memcmp(name + n - m, suffix, m) != 0)
		return false;
	*prefix_len = n - m;
	return true;
}

/* Defined, and visible outside of its file. */
static bool is_global(const struct mpk_symbol *s)
{
	return s->defined && s->name[0] &&
	       (s->bind == STB_GLOBAL || s->bind == STB_WEAK || s->bind == STB_GNU_UNIQUE) &&
	       (s->visibility == STV_DEFAULT || s->visibility == STV_PROTECTED);
}

bool mpk_symbol_is_context(const struct mpk_symbol *s)
{
	return is_global(s) && s->type == STT_OBJECT && mpk_name_starts(s->name, "__TVM");
}

bool mpk_symbol_is_entry_name(const struct mpk_symbol *s)
{
	return is_global(s) && s->type == STT_OBJECT && strcmp(s->name, "__tvm_main__") == 0;
}

const char *mpk_symbol_function(const struct mpk_symbol *s, enum mpk_generation gen)
{
	if (!is_global(s) || (s->type != STT_FUNC && s->type != STT_GNU_IFUNC))
		return NULL;
	if (gen != MPK_GEN_CURRENT)
		return mpk_name_is_internal(s->name, s->bind == STB_WEAK) ? NULL : s->name;
	if (!mpk_name_starts(s->name, FFI_PREFIX) || is_ffi_special(s->name) ||
	    !s->name[strlen(FFI_PREFIX)])
		return NULL;
	return s->name + strlen(FFI_PREFIX);
}

const char *mpk_symbol_getter(const struct mpk_symbol *s)
{
	bool is = mpk_name_starts(s->name, FFI_PREFIX MPK_GETTER_METADATA) ||
		  mpk_name_starts(s->name, FFI_PREFIX MPK_GETTER_DOC);

	return is && is_global(s) && s->type == STT_FUNC ? s->name + strlen(FFI_PREFIX) : NULL;
}
