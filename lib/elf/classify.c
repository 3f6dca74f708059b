/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/classify.h"

#include <ctype.h>
#include <string.h>

#define FFI_PREFIX "__tvm_ffi_"

static bool starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* Names that share the prefix of functions but are none (tvm-blob(5), SYMBOLS). */
static bool is_ffi_special(const char *name)
{
	size_t prefix;

	return starts(name, FFI_PREFIX MPK_GETTER_METADATA) ||
	       starts(name, FFI_PREFIX MPK_GETTER_DOC) || starts(name, "__tvm_ffi__cubin_") ||
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

	if (s->defined && starts(name, FFI_PREFIX) && !is_ffi_special(name))
		marks->current = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_ffi__library_ctx", &prefix))
		marks->current = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_ffi_library_ctx", &prefix))
		marks->hybrid = true;
	if (s->defined && mpk_symbol_suffix(name, "__tvm_module_ctx", &prefix))
		marks->legacy = true;
	if (s->defined && strcmp(name, "__tvm_main__") == 0)
		marks->tvm = true;

	bool pointer = s->defined && starts(name, "__TVM");
	if (!pointer && (s->defined || !starts(name, "TVM")))
		return;
	name += pointer ? 2 : 0;
	marks->hybrid |= is_one_of(name, hybrid, MPK_ARRAY_COUNT(hybrid));
	marks->legacy |= is_one_of(name, legacy, MPK_ARRAY_COUNT(legacy));
	marks->tvm |= pointer || starts(name, "TVMBackend");
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
	return is_global(s) && s->type == STT_OBJECT && starts(s->name, "__TVM");
}

bool mpk_symbol_is_entry_name(const struct mpk_symbol *s)
{
	return is_global(s) && s->type == STT_OBJECT && strcmp(s->name, "__tvm_main__") == 0;
}

/* Before 0.22 functions have no prefix: everything a library exports is a candidate but
 * what is known to come from elsewhere. */
static const char *plain_function(const char *name)
{
	static const char *const linkers[] = { "_init", "_fini", "_start" };

	if (strcmp(name, "__tvm_main__") == 0)
		return name;
	if (starts(name, "__") || starts(name, "_Z") ||
	    is_one_of(name, linkers, MPK_ARRAY_COUNT(linkers)))
		return NULL;
	if (starts(name, "TVM") && isupper((unsigned char)name[3]))
		return NULL; /* a runtime linked in */
	return name;
}

const char *mpk_symbol_function(const struct mpk_symbol *s, enum mpk_generation gen)
{
	if (!is_global(s) || (s->type != STT_FUNC && s->type != STT_GNU_IFUNC))
		return NULL;
	if (gen != MPK_GEN_CURRENT)
		return plain_function(s->name);
	if (!starts(s->name, FFI_PREFIX) || is_ffi_special(s->name) || !s->name[strlen(FFI_PREFIX)])
		return NULL;
	return s->name + strlen(FFI_PREFIX);
}

const char *mpk_symbol_getter(const struct mpk_symbol *s)
{
	bool is = starts(s->name, FFI_PREFIX MPK_GETTER_METADATA) ||
		  starts(s->name, FFI_PREFIX MPK_GETTER_DOC);

	return is && is_global(s) && s->type == STT_FUNC ? s->name + strlen(FFI_PREFIX) : NULL;
}
