/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c - the global functions of TVM releases, and those that a library registers
 *
 * The table globals.def is generated. The option of TVM's build that brings the functions missing
 * in the wheels is taken from TVM's CMake files. */
#include "compat/release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "compat/dso.h"
#include "elf/linking.h"
#include "elf/wants.h"

enum {
	FFI = 1 << 0,
	T25 = 1 << 1,
	T26 = 1 << 2,
	T27 = 1 << 3,
	P25 = 1 << 4,
	P26 = 1 << 5,
	P27 = 1 << 6,
	C25 = 1 << 7,
	C26 = 1 << 8,
	C27 = 1 << 9,
};

/* Functions that the same wheels have. */
static const struct group {
	uint16_t where;
	const char *names; /* each name has a blank on both sides */
} groups[] = {
#define G(where, names) { where, names },
#include "compat/globals.def"
#undef G
};

/* The wheels whose functions a release has. */
static const struct wheel {
	unsigned minor;
	uint16_t libraries, python, cuda;
} wheels[] = {
	{ MPK_TVM_FFI, FFI, 0, 0 },
	{ 25, T25, P25, C25 },
	{ 26, T26, P26, C26 },
	{ 27, T27, P27, C27 },
};

/* Prefixes of names, and the option of TVM's build that registers such functions. */
static const struct {
	const char *prefix, *option;
} options[] = {
	{ "device_api.cuda", "USE_CUDA" },
	{ "device_api.hexagon", "USE_HEXAGON" },
	{ "device_api.metal", "USE_METAL" },
	{ "device_api.opencl", "USE_OPENCL" },
	{ "device_api.rocm", "USE_ROCM" },
	{ "device_api.vulkan", "USE_VULKAN" },
	{ "runtime.CUBLASJSONRuntimeCreate", "USE_CUBLAS" },
	{ "runtime.DNNLJSONRuntimeCreate", "USE_DNNL" },
	{ "runtime.ExampleNPUJSONRuntimeCreate", "USE_EXAMPLE_NPU_RUNTIME" },
	{ "runtime.HIPBLASJSONRuntimeCreate", "USE_HIPBLAS" },
	{ "runtime.clml_runtime_create", "USE_CLML_GRAPH_EXECUTOR" },
	{ "runtime.cuDNNJSONRuntimeCreate", "USE_CUDNN" },
	{ "runtime.disco.nccl", "USE_NCCL" },
	{ "runtime.disco.nvshmem", "USE_NVSHMEM" },
	{ "runtime.nnapi_runtime_create", "USE_NNAPI_RUNTIME" },
	{ "runtime.tensorrt_runtime_create", "USE_TENSORRT_RUNTIME" },
	{ "tvm.contrib.amx.", "USE_MKL" },
	{ "tvm.contrib.cblas.", "USE_BLAS" },
	{ "tvm.contrib.cublas.", "USE_CUBLAS" },
	{ "tvm.contrib.cublaslt.", "USE_CUBLAS" },
	{ "tvm.contrib.cudnn.", "USE_CUDNN" },
	{ "tvm.contrib.curand.", "USE_CURAND" },
	{ "tvm.contrib.dnnl.", "USE_DNNL" },
	{ "tvm.contrib.hipblas.", "USE_HIPBLAS" },
	{ "tvm.contrib.hipblaslt.", "USE_HIPBLAS" },
	{ "tvm.contrib.miopen.", "USE_MIOPEN" },
	{ "tvm.contrib.mkl.", "USE_MKL" },
	{ "tvm.contrib.mps.", "USE_MPS" },
	{ "tvm.contrib.nnpack.", "USE_NNPACK" },
	{ "tvm.contrib.rocblas.", "USE_ROCBLAS" },
	{ "tvm.contrib.thrust.", "USE_THRUST" },
};

static unsigned where_is(struct mpk_span name)
{
	char text[128]; /* all names are shorter */
	const char *found = NULL;
	size_t i = 0;

	if (name.len > sizeof text - 3 || !name.len || memchr(name.data, 0, name.len) ||
	    memchr(name.data, ' ', name.len))
		return 0;
	(void)snprintf(text, sizeof text, " %.*s ", (int)name.len, (const char *)name.data);
	for (; i < MPK_ARRAY_COUNT(groups) && !found; i++)
		found = strstr(groups[i].names, text);
	return found ? groups[i - 1].where : 0;
}

static const struct wheel *wheel_of(const struct mpk_release *release)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(wheels); i++)
		if (wheels[i].minor == release->minor)
			return &wheels[i];
	return NULL;
}

static void set_releases(unsigned where, char *out, size_t size)
{
	const struct wheel *have[MPK_ARRAY_COUNT(wheels)];
	size_t count = 0, n = 0;

	out[0] = 0;
	for (size_t i = 1; i < MPK_ARRAY_COUNT(wheels); i++)
		if (where & (wheels[i].libraries | wheels[i].python | wheels[i].cuda))
			have[count++] = &wheels[i];
	for (size_t i = 0; i < count && n < size; i++) {
		const char *between = !i ? "TVM " : i + 1 < count ? ", " : " and ";

		n += (size_t)snprintf(out + n, size - n, "%s0.%u", between, have[i]->minor);
	}
}

static const char *option_of(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(options); i++)
		if (mpk_span_starts(name, options[i].prefix))
			return options[i].option;
	return NULL;
}

enum mpk_global_state mpk_release_global(const struct mpk_release *release, struct mpk_span name,
					 struct mpk_global_info *info)
{
	const struct wheel *wheel = wheel_of(release);
	unsigned where = where_is(name);

	if (info) {
		*info = (struct mpk_global_info){
			.option = option_of(name),
			.is_pythons =
				where & (P25 | P26 | P27) && !(where & (FFI | T25 | T26 | T27)),
		};
		set_releases(where, info->releases, sizeof info->releases);
	}
	if (!wheel)
		return MPK_GLOBAL_UNKNOWN;
	return where & wheel->libraries ? MPK_GLOBAL_THERE
	       : where & wheel->python  ? MPK_GLOBAL_PYTHON
	       : where & wheel->cuda    ? MPK_GLOBAL_SIDECAR
					: MPK_GLOBAL_MISSING;
}

/* --- the functions that a library registers
 *
 * TVM and libraries of tvm-ffi register functions in initializers. An initializer points at the
 * names and calls the function that registers, or calls functions of its source file that do so.
 * Two calls deep, every name of TVM's wheels is found (tests/interop), and no name that other code
 * only looks up, such as the names in programs that the compiler writes. Compilers may load two
 * pointers at once from where the dynamic linker stores them. */

enum { DEPTH = 3, NAME_MAX_BYTES = 128 };

/* A word that the dynamic linker sets to an address. */
struct pointer {
	uint64_t address, to;
};

struct walk {
	const struct mpk_reach *reach;
	struct pointer *pointers; /* sorted by address */
	size_t pointer_count, pointer_cap;
	struct mpk_strmap *names;
	struct mpk_strmap
		exported; /* functions that the library exports and calls by their symbols: their
			   * pieces */
	uint8_t *
		depths; /* for each piece: 1 + number of calls from an initializer; 0: not reached */
	size_t *queue, queued;
	size_t piece;
	bool failed;
};

static void reach_piece(struct walk *w, size_t piece, uint8_t depth)
{
	if (w->depths[piece])
		return;
	w->depths[piece] = depth;
	w->queue[w->queued++] = piece;
}

static void take_initializer(void *arg, size_t piece)
{
	reach_piece(arg, piece, 1);
}

static void registry_take_name(struct walk *w, uint64_t address)
{
	struct mpk_span bytes, name;
	size_t ignored;
	uint64_t off;

	if (!mpk_elf_at_address(w->reach->elf, address, &bytes, &off))
		return;
	if (bytes.len > NAME_MAX_BYTES)
		bytes.len = NAME_MAX_BYTES;
	name = mpk_span_of(bytes.data, strnlen((const char *)bytes.data, bytes.len));
	if (name.len < 2 || name.len == bytes.len)
		return;
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] <= ' ' || name.data[i] >= 0x7f)
			return;
	w->failed |= mpk_strmap_put(w->names, name, 0, &ignored) < 0;
}

MPK_ORDER_BY(registry_by_address, struct pointer, address)

static void registry_take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct walk *w = arg;

	if (!r->is_relative || !r->has_addend || w->failed)
		return;
	if (MPK_VEC_ROOM(w->pointers, w->pointer_count, w->pointer_cap))
		w->pointers[w->pointer_count++] =
			(struct pointer){ r->address, (uint64_t)r->addend };
	else
		w->failed = true;
}

static void take_ref(void *arg, const struct mpk_reach_ref *ref)
{
	struct walk *w = arg;

	uint8_t depth = w->depths[w->piece];
	size_t piece = ref->piece;

	if (depth < DEPTH && (ref->kind == MPK_REACH_CODE ||
			      (ref->kind == MPK_REACH_SYMBOL &&
			       mpk_strmap_find(&w->exported, mpk_span_str(ref->symbol), &piece))))
		reach_piece(w, piece, (uint8_t)(depth + 1));
	else if (ref->kind == MPK_REACH_DATA)
		registry_take_name(w, ref->to);
	else if (ref->kind == MPK_REACH_LOAD) {
		uint64_t address = ref->to;
		for (uint64_t at = address; at <= address + 8; at += 8) {
			const struct pointer key = { .address = at };
			size_t i = mpk_lower_bound(w->pointers, w->pointer_count, sizeof key, &key,
						   registry_by_address);

			if (i < w->pointer_count && w->pointers[i].address == at)
				registry_take_name(w, w->pointers[i].to);
		}
	}
}

static enum mpk_code walk_from(struct walk *w, struct mpk_error *err)
{
	struct mpk_linking l;

	MPK_TRY(mpk_linking_open(w->reach->elf, &l, err));
	MPK_TRY(mpk_linking_relocations(&l, registry_take_relocation, w, err));
	if (w->pointer_count)
		qsort(w->pointers, w->pointer_count, sizeof *w->pointers, registry_by_address);

	struct mpk_symtab table;
	struct mpk_symbol s;
	size_t ignored;

	MPK_TRY(mpk_symtab_dynamic(w->reach->elf, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		size_t piece;

		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (!s.defined || s.type != STT_FUNC)
			continue;
		piece = mpk_reach_piece(w->reach, s.value);
		if (piece < w->reach->count)
			MPK_TRY_ALLOC(mpk_strmap_put(&w->exported, mpk_span_str(s.name), piece,
						     &ignored) >= 0,
				      err);
	}

	MPK_TRY(mpk_reach_initializers(w->reach, take_initializer, w, err));
	for (size_t at = 0; at < w->queued && !w->failed; at++) {
		w->piece = w->queue[at];
		mpk_reach_each(w->reach, w->piece, take_ref, w);
	}
	return w->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code read_names(const struct mpk_reach *reach, struct mpk_strmap *names,
				struct mpk_error *err)
{
	struct walk w = {
		.reach = reach,
		.names = names,
		.depths = calloc(reach->count + 1, sizeof *w.depths),
		.queue = calloc(reach->count + 1, sizeof *w.queue),
	};
	enum mpk_code code = w.depths && w.queue ? walk_from(&w, err) : mpk_fail_nomem(err);

	mpk_strmap_fini(&w.exported);
	free(w.pointers);
	free(w.depths);
	free(w.queue);
	return code;
}

/* The older registry took names as std::string, whose texts compilers may turn into code: only
 * libraries of tvm-ffi are searched. */
static bool is_of_tvm_ffi(const struct mpk_dso *dso)
{
	if (mpk_dso_defines(dso, "TVMFFIFunctionSetGlobal"))
		return true;
	for (size_t i = 0; i < dso->needed_count; i++)
		if (strcmp(dso->needed[i], "libtvm_ffi.so") == 0)
			return true;
	return false;
}

enum mpk_code mpk_dso_read_globals(struct mpk_dso *dso, struct mpk_error *err)
{
	struct mpk_reach reach;
	enum mpk_code code;

	if (dso->globals_read || !is_of_tvm_ffi(dso))
		return MPK_OK;
	MPK_TRY(mpk_reach_open(&dso->elf, &reach, err));
	code = read_names(&reach, &dso->globals, err);
	dso->globals_known = reach.count > 0;
	dso->globals_read = code == MPK_OK;
	mpk_reach_close(&reach);
	return code;
}

bool mpk_dso_registers(const struct mpk_dso *dso, struct mpk_span name)
{
	size_t value;

	return mpk_strmap_find(&dso->globals, name, &value);
}
