/* SPDX-License-Identifier: Apache-2.0 */
/* device_hint.c - "add --device opencl"
 *
 * Which device a function wants its tensors on stands nowhere in a library: it is guessed from the
 * kernels beside it (mpk_devices_default). Where the guess, or what the user said, was wrong, host
 * code says so in words of its own, or crashes on a pointer of the other memory. The error then
 * gets the devices that are left.
 */
#include "session/internal/device_hint.h"

#include <string.h>

#include "base/strbuf.h"
#include "device/device.h"
#include "program/model.h"

/* The kinds of device that the tree has kernels for and that run here, each once. */
static size_t list_kinds(const struct mpk_tree *tree, enum mpk_device_kind *kinds, size_t most)
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

/* TVM's checks of devices name "device_type", ours end in "is on cpu"; whoever takes a handle for
 * an address crashes. */
static bool is_about_devices(const struct mpk_error *err)
{
	return strstr(err->text, "device_type") || strstr(err->text, ", is on ") ||
	       strstr(err->text, "SIGSEGV") || strstr(err->text, "SIGBUS");
}

/* Launch functions of mpack name the device they want. */
static bool is_wanted(const struct mpk_error *err, enum mpk_device_kind kind)
{
	static const char begin[] = "' must be on ";
	const char *at = strstr(err->text, begin), *name = mpk_device_kind_name(kind);

	if (!at)
		return true;
	at += sizeof begin - 1;
	return strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ',';
}

/* A model may want one input here and another there. */
static bool is_model(const struct mpk_tree *tree)
{
	for (size_t i = 0; tree && i < tree->count; i++)
		if (mpk_model_is_kind(tree->nodes[i].kind))
			return true;
	return false;
}

void mpk_device_hint_add(const struct mpk_library_options *library, const struct mpk_call *call,
			 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	enum mpk_device_kind kinds[4];
	size_t count = list_kinds(library->tree, kinds, MPK_ARRAY_COUNT(kinds)), said = 0;
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
