/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one call: whether its library can be loaded, its device, its result, and hints for
 * errors
 *
 * A single call is a batch of one. A library does not say on which device a function wants its
 * tensors, so the device is guessed from the kernels in it (mpk_devices_default). If the guess or
 * the user's choice is wrong, host code reports it in its own words, or crashes on a pointer to
 * other memory. The error then gets a hint with the other devices.
 *
 * Compiled code keeps only the text of an error that passes through it. So errors are recognised by
 * the words of their text.
 */
#include "session/call.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "device/device.h"
#include "program/model.h"
#include "text/escape.h"
#include "value/parse.h"

/* --- results --------------------------------------------------------------------------------- */

void mpk_call_result_fini(struct mpk_call_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		mpk_value_drop(&r->values[i]);
	free(r->values);
	free(r->seconds);
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (mpk_watchers[i]->fini)
			mpk_watchers[i]->fini(&r->seen);
	*r = (struct mpk_call_result){ 0 };
}

static int compare_seconds(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* p95 is the nearest rank; the median of an even count is the mean of the middle two. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count)
{
	struct mpk_timing t = { 0 };
	size_t p95 = (count * 95 + 99) / 100;

	qsort(seconds, count, sizeof *seconds, compare_seconds);
	for (size_t i = 0; i < count; i++)
		t.mean += seconds[i] / (double)count;
	t.min = seconds[0];
	t.median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
	t.p95 = seconds[p95 - 1];
	return t;
}

enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out, struct mpk_error *err)
{
	struct mpk_expect e = {
		.is_ignored = strcmp(text, "ignored") == 0 || strcmp(text, "(ignored)") == 0,
	};

	if (!e.is_ignored)
		MPK_TRY(mpk_value_parse(text, &e.value, err));
	*out = e;
	return MPK_OK;
}

/* A missing result counts as different. */
enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };
	struct mpk_comparison c = { 0 };

	if (expect->is_ignored)
		return MPK_OK;
	if (i >= results->count)
		mpk_strbuf_printf(&why, "there is no such result; there are %zu", results->count);
	else
		MPK_TRY(mpk_value_compare(&results->values[i], &expect->value, tolerance, &c, &why,
					  err));
	*out = c;
	if (c.is_equal)
		return MPK_OK;
	return mpk_fail(err, MPK_E_DIFFERENT, "result %zu: %s", i, mpk_strbuf_text(&why));
}

/* --- what a user of minspect can do about an error ---------------------------------------------- */

/* Appends a hint once: a library that does not load gives the same error for each call of a
 * batch. */
static void hint_append(struct mpk_error *err, const char *hint)
{
	size_t used = strlen(err->text);

	if (!strstr(err->text, hint))
		(void)snprintf(err->text + used, sizeof err->text - used, "%s", hint);
}

void mpk_hint_add(struct mpk_error *err)
{
	static const struct {
		const char *fact, *hint;
	} rows[] = {
		{ "; get it with 'pip install apache-tvm-ffi'",
		  " and name it with --tvm-ffi PATH" },
		{ ": the model wants more devices", ", name them with --device A,B" },
		{ "' lines, without which TVM does not load it",
		  ": give the source to 'mpack build', or to 'mpack edit --replace', which add them" },
		{ " that neither the library nor this program has: ",
		  "; --provide LIB has functions of another library" },
		{ ", which none of the devices here runs (",
		  "; --device cpu calls host code all the same" },
	};

	if (!err || err->code == MPK_OK)
		return;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (strstr(err->text, rows[i].fact))
			hint_append(err, rows[i].hint);
	if (strstr(err->text, "the code asks for device ")) {
		/* The list of device kinds may grow. */
		char hint[128];

		(void)snprintf(hint, sizeof hint, "; minspect runs %s", mpk_device_kind_names());
		hint_append(err, hint);
	}
}

void mpk_hint_add_call(const struct mpk_signature *signature, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };

	if (!signature->input_count)
		return;
	mpk_strbuf_puts(&hint, "; call it with");
	mpk_signature_options(signature, &hint);
	if (!hint.failed)
		hint_append(err, mpk_strbuf_text(&hint));
}

/* --- the hint -------------------------------------------------------------------------------- */

/* Lists the kinds of devices for which the tree has kernels and which exist on this machine, each
 * once. */
static size_t list_device_kinds(const struct mpk_tree *tree, enum mpk_device_kind *kinds,
				size_t most)
{
	size_t count = 0;

	for (size_t i = 0; tree && i < tree->count; i++) {
		enum mpk_device_kind kind = mpk_device_kind_of(tree->nodes[i].kind);
		size_t k = 0;

		if (kind == MPK_DEVICE_NONE || kind == MPK_DEVICE_CPU)
			continue;
		while (k < count && kinds[k] != kind)
			k++;
		if (k == count && count < most)
			kinds[count++] = kind;
	}
	return count;
}

/* Whether an error is about devices. TVM's checks name "device_type", ours end in "is on cpu"; code
 * that takes a handle for an address crashes. */
static bool is_about_devices(const struct mpk_error *err)
{
	return strstr(err->text, "device_type") || strstr(err->text, ", is on ") ||
	       strstr(err->text, "SIGSEGV") || strstr(err->text, "SIGBUS");
}

/* Whether the error names this device: mpack's launch functions name the device they want. */
static bool is_wanted(const struct mpk_error *err, enum mpk_device_kind kind)
{
	static const char begin[] = "' must be on ";
	const char *at = strstr(err->text, begin), *name = mpk_device_kind_name(kind);

	if (!at)
		return true;
	at += sizeof begin - 1;
	return strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ',';
}

/* Whether the tree has a model, whose inputs may be on different devices. */
static bool is_model(const struct mpk_tree *tree)
{
	for (size_t i = 0; tree && i < tree->count; i++)
		if (mpk_model_is_kind(tree->nodes[i].kind))
			return true;
	return false;
}

/* Only for errors of called code: our own errors already say what is wrong. */
static void add_device_hint(const struct mpk_library_options *library, const struct mpk_call *call,
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	enum mpk_device_kind kinds[4];
	size_t count = list_device_kinds(library->tree, kinds, MPK_ARRAY_COUNT(kinds)), said = 0;
	bool listed = false;

	if (!err || err->code != MPK_E_RAISED || !count || call->kernel ||
	    library->image->standalone || !is_about_devices(err))
		return;
	size_t used = strlen(err->text);

	for (size_t i = 0; i < count; i++)
		listed |= (int32_t)kinds[i] == call->device.type;
	if (listed)
		mpk_strbuf_printf(
			&text, "; its tensors were on %s: if it runs on the host, add --device cpu",
			mpk_device_kind_name(mpk_device_kind_from(call->device.type)));
	for (size_t i = 0; i < count && !listed; i++)
		if (is_wanted(err, kinds[i]))
			mpk_strbuf_printf(&text, "%s--device %s", said++ ? " or " : "; add ",
					  mpk_device_kind_name(kinds[i]));
	if (is_model(library->tree) && (listed || said))
		mpk_strbuf_printf(&text, "; for one input alone, --input VALUE@%s",
				  listed ? "cpu" : mpk_device_kind_name(kinds[0]));
	if (mpk_strbuf_status(&text, NULL) == MPK_OK && used + text.len < sizeof err->text)
		memcpy(err->text + used, mpk_strbuf_text(&text), text.len + 1);
}

/* --- calls ----------------------------------------------------------------------------------- */

enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	if (!call->kernel && !call->device.type) {
		call->device_is_guess = true;
		/* a standalone library copies tensors to its device itself */
		if (library->image->standalone)
			call->device.type = MPK_DL_CPU;
		else
			code = mpk_devices_default(library->tree, &call->device, err);
	}
	if (code != MPK_OK) {
		mpk_hint_add(err);
		return code;
	}

	/* Reported before the child starts: in the sandbox a driver would fail with a misleading
	 * error. */
	bool on_device = call->device.type > MPK_DL_CPU;

	for (size_t i = 0; call->places && i < call->arg_count; i++)
		on_device |= call->places[i].type > MPK_DL_CPU;
	if (!library->sandbox || !on_device)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"--isolate is for code on the CPU, as drivers of devices need more; a function that takes host tensors runs with --device cpu");
}

enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_batch_item item = { .call = call, .timeout = timeout };

	if (!call->kernel)
		MPK_TRY(mpk_library_check(library, err));
	MPK_TRY(mpk_batch_run(library, &item, 1, err));
	if (item.error.code != MPK_OK) {
		add_device_hint(library, call, &item.error);
		if (err)
			*err = item.error;
		return mpk_failed(item.error.code);
	}
	*out = item.result;
	return MPK_OK;
}

/* --- the file: what the dynamic linker would refuse, in the words of a user who has the wrong one ------ */

#if defined(__x86_64__)
#define HERE EM_X86_64, "x86-64"
#elif defined(__aarch64__)
#define HERE EM_AARCH64, "AArch64"
#elif defined(__riscv)
#define HERE EM_RISCV, "RISC-V"
#elif defined(__powerpc64__)
#define HERE EM_PPC64, "PowerPC64"
#elif defined(__s390x__)
#define HERE EM_S390, "S390"
#else
#error "name this machine here"
#endif

static const struct {
	uint16_t machine;
	const char *name;
} here = { HERE };

static bool is_little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

static enum mpk_code check_machine(const struct mpk_image *image, struct mpk_error *err)
{
	unsigned class = sizeof(void *) * 8;

	if (image->machine == here.machine && image->elf_class == class &&
	    image->big_endian == !is_little_endian())
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the library is for %s (%u-bit, %s-endian); this machine is %s (%u-bit, %s-endian)",
		image->machine_name, image->elf_class, image->big_endian ? "big" : "little",
		here.name, class, is_little_endian() ? "little" : "big");
}

enum mpk_code mpk_library_check(const struct mpk_library_options *options, struct mpk_error *err)
{
	const struct mpk_image *image = options->image;

	if (options->unloadable.code != MPK_OK) {
		if (err)
			*err = options->unloadable;
		return mpk_failed(options->unloadable.code);
	}
	switch (image->container) {
	case MPK_CONTAINER_ELF_SO:
		break;
	case MPK_CONTAINER_BLOB:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a bare blob has no code to call; build a library of it with 'mpack build'");
	case MPK_CONTAINER_DEVICE:
		return mpk_fail(
			err, MPK_E_LOAD,
			"GPU code by itself has no host code to call; 'mpack init' writes a manifest of it, and 'mpack build' a library");
	case MPK_CONTAINER_MACHO_SO:
	case MPK_CONTAINER_PE_SO:
		return mpk_fail(err, MPK_E_LOAD,
				"the library is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_PE ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_WASM_SO:
	case MPK_CONTAINER_WASM_OBJ:
		return mpk_fail(err, MPK_E_LOAD,
				"WebAssembly runs in a browser or a runtime of its own; this "
				"machine loads ELF libraries");
	case MPK_CONTAINER_MACHO_OBJ:
	case MPK_CONTAINER_COFF_OBJ:
		return mpk_fail(err, MPK_E_LOAD,
				"the object is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_COFF ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_C:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a source cannot be loaded before it is compiled: cc -shared -fPIC -o LIBRARY.so SOURCES");
	case MPK_CONTAINER_ELF_OBJ:
	case MPK_CONTAINER_ARCHIVE:
	case MPK_CONTAINER_TAR:
		return mpk_fail(
			err, MPK_E_LOAD,
			"objects cannot be loaded before they are linked: cc -shared -o LIBRARY.so OBJECTS");
	}
	if (image->type != ET_DYN)
		return mpk_fail(err, MPK_E_LOAD, "not a shared library");
	MPK_TRY(check_machine(image, err));
	if (!image->has_blob && !image->function_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"neither a module blob nor a callable function is in it");
	return MPK_OK;
}
