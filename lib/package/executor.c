/* executor.c - the payloads of graph and AOT executors from graph JSON and parameter files */

#include <jansson.h>
#include <string.h>

#include "base/cursor.h"
#include "package/loader.h"
#include "text/escape.h"

#define PARAMS_MAGIC UINT64_C(0xf7e58d4f05049cb7)
#define TENSOR_MAGIC UINT64_C(0xdd5e40f096b4a13f)
#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

enum { DIM_BYTES = 8, TENSOR_MIN = 40, DIMS_MAX = 64 };

/* A parameter file: where its names and its tensors stand. */
struct params {
	const struct mpk_file *file; /* NULL: the module has no parameters */
	uint64_t count;
	uint64_t names_off, names_len; /* vec<str>, its count included */
	uint64_t tensors_off, tensors_len;
};

static enum mpk_code skip_tensor(struct mpk_cursor *c, struct mpk_error *err)
{
	uint64_t magic, reserved, bytes;
	uint32_t device, id, dims, dtype;
	struct mpk_span skipped;

	MPK_TRY(mpk_read_u64(c, "magic of a tensor", &magic, err));
	if (magic != TENSOR_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", mpk_cursor_offset(c) - 8,
				       "no tensor begins here");
	MPK_TRY(mpk_read_u64(c, "reserved field", &reserved, err));
	MPK_TRY(mpk_read_u32(c, "device type", &device, err));
	MPK_TRY(mpk_read_u32(c, "device id", &id, err));
	MPK_TRY(mpk_read_u32(c, "number of dimensions", &dims, err));
	MPK_TRY(mpk_read_u32(c, "data type", &dtype, err));
	if (dims > DIMS_MAX)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", mpk_cursor_offset(c) - 8,
				       "a tensor of %u dimensions", dims);
	MPK_TRY(mpk_read_bytes(c, "shape", (uint64_t)dims * DIM_BYTES, &skipped, err));
	MPK_TRY(mpk_read_u64(c, "size of a tensor", &bytes, err));
	return mpk_read_bytes(c, "data of a tensor", bytes, &skipped, err);
}

static enum mpk_code scan_params(struct mpk_span bytes, struct params *p, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "file");
	uint64_t magic, reserved;
	size_t count, again;
	struct mpk_span name;

	MPK_TRY(mpk_read_u64(&c, "magic", &magic, err));
	if (magic != PARAMS_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "this is no parameter file of TVM");
	MPK_TRY(mpk_read_u64(&c, "reserved field", &reserved, err));
	p->names_off = c.pos;
	MPK_TRY(mpk_read_count(&c, "number of names", sizeof(uint64_t), &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_read_str(&c, "name", &name, err));
	p->names_len = c.pos - p->names_off;
	MPK_TRY(mpk_read_count(&c, "number of tensors", TENSOR_MIN, &again, err));
	if (again != count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", mpk_cursor_offset(&c) - 8,
				       "%zu names but %zu tensors", count, again);
	p->tensors_off = c.pos;
	for (size_t i = 0; i < count; i++)
		MPK_TRY(skip_tensor(&c, err));
	p->tensors_len = c.pos - p->tensors_off;
	p->count = count;
	if (mpk_cursor_left(&c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", mpk_cursor_offset(&c),
				       "%zu bytes after the last tensor", mpk_cursor_left(&c));
	return MPK_OK;
}

static bool load_params(struct mpk_loader *l, const struct mpk_mmodule *m, struct params *p)
{
	struct mpk_toml_str name = mpk_mmodule_extra(m, "params");
	struct mpk_error err = { 0 };

	if (!name.text)
		return true;
	p->file = mpk_loader_open(l, name);
	if (!p->file)
		return false;
	if (scan_params(p->file->map.bytes, p, &err) == MPK_OK)
		return true;
	mpk_loader_error(l, name.pos, err.code, "payload-format", "'%s': at byte %llu: %s",
			 QUOTE(name), (unsigned long long)err.at.offset, err.text);
	return false;
}

static void check_graph(struct mpk_loader *l, struct mpk_toml_str name, struct mpk_span text)
{
	json_error_t why;
	json_t *graph = json_loadb((const char *)text.data, text.len, 0, &why);

	if (!graph)
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s': line %d, column %d: %s", QUOTE(name), why.line, why.column,
				 MPK_QUOTE(mpk_span_str(why.text)));
	else if (!json_is_array(json_object_get(graph, "nodes")))
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is no graph: it has no array 'nodes'", QUOTE(name));
	json_decref(graph);
}

static bool put_graph(struct mpk_loader *l, const struct mpk_mmodule *m, struct mpk_rope *rope)
{
	struct mpk_toml_str name = mpk_mmodule_extra(m, "graph");
	const struct mpk_file *f = name.text ? mpk_loader_open(l, name) : NULL;

	if (!f)
		return !name.text;
	check_graph(l, name, f->map.bytes);
	mpk_rope_put_u64(rope, f->map.bytes.len);
	mpk_loader_put(f, 0, f->map.bytes.len, rope);
	return true;
}

/* [str graph ;] u64 n ; vec<str> names ; n tensors ; str name */
void mpk_loader_put_executor(struct mpk_loader *l, const struct mpk_mmodule *m,
			     struct mpk_rope *rope)
{
	struct mpk_toml_str name = mpk_mmodule_extra(m, "name");
	struct params p = { 0 };
	bool sound = put_graph(l, m, rope);

	if (!load_params(l, m, &p) || !sound)
		return;
	mpk_rope_put_u64(rope, p.count);
	if (p.file) {
		mpk_loader_put(p.file, p.names_off, p.names_len, rope);
		mpk_loader_put(p.file, p.tensors_off, p.tensors_len, rope);
	} else {
		mpk_rope_put_u64(rope, 0);
	}
	mpk_rope_put_str(rope, name.text ? mpk_toml_str_span(name) : mpk_span_str("default"));
}
