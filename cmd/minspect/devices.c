/* --devices: what can run here, and whether the device code of a file can */
#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "device/device.h"
#include "minspect/document.h"
#include "minspect/minspect.h"
#include "text/escape.h"
#include "text/json.h"
#include "text/table.h"
#include "view/view.h"

/* One kind of device: all that the driver lists, or why there is none. */
struct shelf {
	enum mpk_device_kind kind;
	size_t first, count;     /* in the common list */
	struct mpk_error reason; /* when count is 0 */
};

static const enum mpk_device_kind kinds[] = { MPK_DEVICE_CPU, MPK_DEVICE_OPENCL, MPK_DEVICE_CUDA };
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

struct shelves {
	struct mpk_device_list list;
	struct shelf items[KIND_COUNT];
};

static enum mpk_code look_around(struct shelves *s, struct mpk_error *err)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		struct shelf *shelf = &s->items[i];

		*shelf = (struct shelf){ .kind = kinds[i], .first = s->list.count };
		if (mpk_device_list_add(&s->list, kinds[i], &shelf->reason) == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		shelf->count = s->list.count - shelf->first;
	}
	return MPK_OK;
}

static void put_devices(const struct shelves *s, struct mpk_strbuf *out)
{
	struct mpk_table t = { 0 };

	for (size_t i = 0; i < s->list.count; i++) {
		const struct mpk_device_info *d = &s->list.items[i];

		mpk_table_row(&t);
		if (d->kind == MPK_DEVICE_CPU)
			mpk_table_cell(&t, "cpu");
		else
			mpk_table_cell(&t, "%s:%u", mpk_device_kind_name(d->kind), d->ordinal);
		mpk_table_cell(&t, "%s", d->name);
		mpk_table_cell(&t, "%s", d->arch);
		mpk_table_cell(&t, "%s", MPK_SIZE(d->memory_bytes));
		mpk_table_cell(&t, "%u units", d->compute_units);
		mpk_table_cell(&t, "%s", d->platform);
	}
	mpk_table_print(&t, "", out);
	if (t.failed)
		out->failed = true;
	mpk_table_fini(&t);
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (!s->items[i].count)
			mpk_strbuf_printf(out, "%s: %s\n", mpk_device_kind_name(kinds[i]),
					  s->items[i].reason.text);
}

static void put_devices_json(const struct shelves *s, struct mpk_json *j)
{
	struct json_t *list = mpk_json_array(j, j->root, "devices");

	for (size_t i = 0; i < s->list.count; i++) {
		const struct mpk_device_info *d = &s->list.items[i];
		struct json_t *at = mpk_json_object(j, list, NULL);

		mpk_json_text(j, at, "kind", mpk_device_kind_name(d->kind));
		mpk_json_u64(j, at, "number", d->ordinal);
		mpk_json_text(j, at, "name", d->name);
		mpk_json_text(j, at, "platform", d->platform);
		mpk_json_text(j, at, "arch", d->arch);
		mpk_json_u64(j, at, "memory_bytes", d->memory_bytes);
		mpk_json_u64(j, at, "compute_units", d->compute_units);
		mpk_json_u64(j, at, "block_limit", d->block_limit);
		mpk_json_u64(j, at, "shared_bytes", d->shared_bytes);
	}
	list = mpk_json_array(j, j->root, "unavailable");
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (s->items[i].count)
			continue;
		struct json_t *at = mpk_json_object(j, list, NULL);

		mpk_json_text(j, at, "kind", mpk_device_kind_name(kinds[i]));
		mpk_json_text(j, at, "reason", s->items[i].reason.text);
	}
}

/* Whether a module's code runs on one of the devices here.
 * Returns  that device, or NULL and the reason in *err */
static const struct mpk_device_info *judge(const struct shelves *s,
					   const struct mpk_view_node *node, struct mpk_error *err)
{
	enum mpk_device_kind kind = mpk_device_kind_of(node->node->kind);
	const struct mpk_kernels *kernels = mpk_view_kernels(node);

	if (!kernels) {
		*err = node->problem;
		return NULL;
	}
	(void)mpk_fail(err, MPK_E_UNSUPPORTED, "minspect runs OpenCL and CUDA code only");
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct shelf *shelf = &s->items[i];

		if (shelf->kind != kind)
			continue;
		*err = shelf->reason;
		for (size_t k = 0; k < shelf->count; k++) {
			const struct mpk_device_info *d = &s->list.items[shelf->first + k];

			if (mpk_device_check(d, kernels, err) == MPK_OK)
				return d;
		}
	}
	return NULL;
}

static void put_verdict(const struct mpk_view_node *node, const struct mpk_device_info *d,
			const struct mpk_error *why, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "  %s  ", node->path);
	mpk_escape(out, node->node->kind);
	if (d)
		mpk_strbuf_printf(out, "  runs on %s:%u (%s)\n", mpk_device_kind_name(d->kind),
				  d->ordinal, d->name);
	else
		mpk_strbuf_printf(out, "  does not run here: %s\n", why->text);
}

static void put_verdict_json(const struct mpk_view_node *node, const struct mpk_device_info *d,
			     const struct mpk_error *why, struct mpk_json *j, struct json_t *list)
{
	struct json_t *at = mpk_json_object(j, list, NULL);

	mpk_json_text(j, at, "path", node->path);
	mpk_json_span(j, at, "kind", node->node->kind);
	mpk_json_bool(j, at, "runs", d != NULL);
	if (d)
		mpk_json_u64(j, at, "number", d->ordinal);
	else
		mpk_json_text(j, at, "reason", why->text);
}

struct report {
	struct mpk_strbuf text;
	struct mpk_json json;
	struct json_t *files;
	bool as_json;
};

static bool is_device_code(const struct mpk_view_node *node)
{
	return node->kind && node->kind->role == MPK_ROLE_DEVICE;
}

static int report_view(const struct shelves *s, const struct mpk_view *view, struct report *r,
		       struct json_t *at)
{
	struct json_t *list = r->as_json ? mpk_json_array(&r->json, at, "modules") : NULL;
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < view->count; i++) {
		struct mpk_error why = { 0 };

		if (!is_device_code(&view->nodes[i]))
			continue;
		const struct mpk_device_info *d = judge(s, &view->nodes[i], &why);

		if (r->as_json)
			put_verdict_json(&view->nodes[i], d, &why, &r->json, list);
		else
			put_verdict(&view->nodes[i], d, &why, &r->text);
		status = d ? status : MPK_EXIT_DEVICE;
	}
	return status;
}

static int report_file(const struct shelves *s, const char *name, struct report *r)
{
	struct json_t *at = r->as_json ? mpk_json_object(&r->json, r->files, NULL) : NULL;
	struct minspect_file f;
	struct mpk_error err = { 0 };
	struct mpk_view view;
	int status;
	enum mpk_code code = minspect_file_open(name, &f, &err);

	if (code == MPK_OK)
		code = mpk_view_init(&view, name, f.map.bytes.len, &f.image, &f.tree, &f.arena,
				     &err);
	if (r->as_json) {
		mpk_json_text(&r->json, at, "file", name);
	} else {
		mpk_strbuf_putc(&r->text, '\n');
		mpk_escape(&r->text, mpk_span_str(name));
		mpk_strbuf_putc(&r->text, '\n');
	}
	if (code == MPK_OK) {
		status = report_view(s, &view, r, at);
	} else {
		status = mpk_diag_error(&err);
		if (r->as_json)
			mpk_json_error(&r->json, at, "error", &err);
	}
	minspect_file_close(&f);
	return status;
}

static int report_all(const struct shelves *s, const struct minspect_options *o)
{
	struct report r = { .as_json = o->json };
	int status = MPK_EXIT_OK;

	if (r.as_json) {
		mpk_json_init(&r.json, 1);
		put_devices_json(s, &r.json);
		r.files = mpk_json_array(&r.json, r.json.root, "files");
	} else {
		put_devices(s, &r.text);
	}
	for (size_t i = 0; i < o->file_count; i++) {
		int one = report_file(s, o->files[i], &r);

		status = status ? status : one;
	}
	if (r.as_json && mpk_json_print(&r.json, &r.text, NULL) != MPK_OK)
		r.text.failed = true;
	int written = minspect_write(&r.text);

	mpk_json_fini(&r.json);
	mpk_strbuf_fini(&r.text);
	return status ? status : written;
}

int minspect_devices(const struct minspect_options *o)
{
	struct shelves s = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code = look_around(&s, &err);
	int status = code == MPK_OK ? report_all(&s, o) : mpk_diag_error(&err);

	mpk_device_list_fini(&s.list);
	return status;
}
