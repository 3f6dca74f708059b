/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c - the payloads of graph and AOT executors from graph JSON and parameter files */

#include "factory/factory.h"
#include "package/internal/package.h"
#include "text/escape.h"
#include "text/json_read.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* The parameter file. Its tensors are copied as they stand in it, all at once: one by one, those
 * that are not large would pass through memory. */
static bool load_params(struct mpk_loader *l, const struct mpk_manifest_module *m,
			struct mpk_params *out, struct mpk_rope *tensors)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "params");
	const struct mpk_file *f = name.text ? mpk_loader_open(l, name) : NULL;
	struct mpk_error err = { 0 };

	if (!f)
		return !name.text;
	if (mpk_params_read(f->map.bytes, l->arena, out, &err) == MPK_OK) {
		mpk_loader_put(f, out->tensors_off, f->map.bytes.len - out->tensors_off, tensors);
		out->content = tensors;
		return true;
	}
	if (err.code == MPK_E_NOMEM)
		l->failed = true;
	else
		mpk_loader_error(l, name.pos, err.code, "payload-format", "'%s': at byte %llu: %s",
				 QUOTE(name), (unsigned long long)err.at.offset, err.text);
	return false;
}

/* Only as far as to tell a graph from another JSON file: the executor reads it when it is
 * loaded. */
static void check_graph(struct mpk_loader *l, struct mpk_toml_str name, struct mpk_span text)
{
	struct mpk_json_value graph, nodes;
	struct mpk_error why = { 0 };

	if (mpk_json_read(text, &graph, &why) != MPK_OK) {
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s': line %u, column %u: %s", QUOTE(name), why.at.line,
				 why.at.column, why.text);
		return;
	}
	nodes = mpk_json_value_get(graph, "nodes");
	if (mpk_json_value_type(nodes) != MPK_JSON_ARRAY)
		mpk_loader_error(l, name.pos, MPK_E_CORRUPT, "payload-format",
				 "'%s' is no graph: it has no array 'nodes'", QUOTE(name));
}

/* A graph that is wrong was reported; its bytes are still put into the payload, which a
 * package with findings never becomes. */
static bool load_graph(struct mpk_loader *l, const struct mpk_manifest_module *m,
		       struct mpk_factory *out, const struct mpk_file **file)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "graph");

	*file = name.text ? mpk_loader_open(l, name) : NULL;
	if (!*file)
		return !name.text;
	check_graph(l, name, (*file)->map.bytes);
	out->has_graph = true;
	out->graph_json = (*file)->map.bytes;
	return true;
}

/* "default" is what TVM calls a module that was given no name. */
void mpk_loader_put_executor(struct mpk_loader *l, const struct mpk_manifest_module *m,
			     struct mpk_rope *rope)
{
	struct mpk_toml_str name = mpk_manifest_module_extra(m, "name");
	struct mpk_factory f = { .module_name = name.text ? mpk_toml_str_span(name)
							  : mpk_span_str("default") };
	struct mpk_rope tensors = mpk_rope_of(l->arena);
	const struct mpk_file *graph;
	bool has_graph = load_graph(l, m, &f, &graph);

	if (!load_params(l, m, &f.params, &tensors) || !has_graph)
		return;
	mpk_factory_write(rope, &f);
	if (graph)
		mpk_mapping_use_file(&graph->map, rope);
}
