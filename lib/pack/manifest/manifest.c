/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - reads a manifest, and applies the rules that concern all of it
 *
 * A manifest is read in three steps: the text as TOML (toml/); its tables by the schema, each with
 * the rules that need no other table (row.c); then the rules in this file. All rules run even if
 * others found errors, so that one run reports everything. Only rules that follow imports require
 * that all names are valid. */
#include "manifest/manifest.h"

#include <string.h>

#include "base/strmap.h"
#include "manifest/internal/schema.h"
#include "text/escape.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

/* --- rules that look at several tables ---------------------------------------------- */

struct check {
	struct mpk_toml_reader *r;
	struct mpk_manifest_draft *draft;
	bool has_modules; /* the file has a key `module`, valid or not */
	/* an id is duplicate or an import names no module, so there is no graph to check */
	bool unresolved;
	size_t errors_before;
	size_t unknown;        /* number of names that no module has */
	struct mpk_strmap ids; /* maps an id to the first module with it */
};

/* Reports a file without modules. If `module` has the wrong type, that has been reported, and the
 * file is not called empty. */
static void check_not_empty(struct check *c)
{
	if (!c->draft->module_count && !c->has_modules)
		mpk_toml_read_error(c->r, (struct mpk_pos){ 1, 1 }, "empty",
				    "nothing to pack: there is no [[module]]");
}

/* An import refers to the first module with its id. If an id occurs twice, the graph is probably
 * not what the user meant, so the rules about it are skipped. */
static void check_ids(struct check *c)
{
	for (size_t i = 0; i < c->draft->module_count; i++) {
		struct mpk_toml_str id = c->draft->modules[i].id;
		size_t first = i;

		c->unresolved |= !id.text;
		if (!id.text)
			continue;
		if (mpk_strmap_put(&c->ids, mpk_toml_str_span(id), i, &first) < 0)
			c->r->failed = true;
		else if (first != i)
			mpk_toml_read_error(c->r, id.pos, "duplicate-id",
					    "'%s' is the id of the module on line %u already",
					    QUOTE(id), c->draft->modules[first].id.pos.line);
		c->unresolved |= first != i;
	}
}

/* Suggests the id that was probably meant. */
static void unknown_module(struct check *c, struct mpk_toml_str name, const char *check)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	/* The search compares every id, so it is skipped for findings beyond the limit of the
	 * report. */
	size_t count = c->unknown++ < MPK_REPORT_MAX ? c->draft->module_count : 0, used = 0;
	struct mpk_span *names = mpk_arena_array(&scratch, count, sizeof *names);
	char near[MPK_TOML_SUGGEST_BYTES] = "";

	c->unresolved = true;
	for (size_t i = 0; names && i < count; i++)
		if (c->draft->modules[i].id.text)
			names[used++] = mpk_toml_str_span(c->draft->modules[i].id);
	if (names)
		mpk_toml_suggest(mpk_toml_str_span(name), names, used, near);
	mpk_toml_read_error(c->r, name.pos, check, "no module has the id '%s'%s", QUOTE(name),
			    near);
}

static void check_root(struct check *c)
{
	struct mpk_toml_str root = c->draft->package.root;

	if (root.text &&
	    !mpk_strmap_find(&c->ids, mpk_toml_str_span(root), &c->draft->package.root_index))
		unknown_module(c, root, "unknown-root");
}

/* Resolves ids to indices once; all code that follows imports uses the indices. */
static void resolve_imports(struct check *c, struct mpk_manifest_module *m)
{
	size_t *index = mpk_arena_array(c->r->arena, m->imports.count, sizeof *index);

	if (!index) {
		c->r->failed = true;
		return;
	}
	for (size_t i = 0; i < m->imports.count; i++)
		if (!mpk_strmap_find(&c->ids, mpk_toml_str_span(m->imports.items[i]), &index[i]))
			unknown_module(c, m->imports.items[i], "unknown-import");
	m->import_index = index;
}

static void check_imports(struct check *c)
{
	for (size_t i = 0; i < c->draft->module_count; i++)
		resolve_imports(c, &c->draft->modules[i]);
}

/* Checks that host modules have sources. Launch functions and a base provide host code without
 * them. */
static void check_host_code(struct check *c)
{
	bool generated = c->draft->launch_count || c->draft->package.base.text;

	for (size_t i = 0; i < c->draft->module_count; i++) {
		const struct mpk_manifest_module *m = &c->draft->modules[i];

		/* An empty list says that the code is not available, which is enough for writing a
		 * blob. */
		if (m->is_host && m->valid && !m->sources.present && !generated)
			mpk_toml_read_error(
				c->r, m->pos, "missing-key",
				"a host module needs 'sources' (or [package] a 'base')");
	}
}

/* A driver finds a kernel by its name, so two rows of a module with the same name would be the same
 * kernel. */
static void check_function_names(struct check *c)
{
	for (size_t i = 0; i < c->draft->module_count; i++) {
		const struct mpk_manifest_module *m = &c->draft->modules[i];
		struct mpk_strmap names = { 0 };

		for (size_t k = 0; k < m->function_count; k++) {
			struct mpk_toml_str name = m->functions[k].name;
			size_t first = k;

			if (!name.text)
				continue;
			if (mpk_strmap_put(&names, mpk_toml_str_span(name), k, &first) < 0)
				c->r->failed = true;
			else if (first != k)
				mpk_toml_read_error(c->r, name.pos, "duplicate-function",
						    "'%s' is listed twice in this module",
						    QUOTE(name));
		}
		mpk_strmap_fini(&names);
	}
}

/* Functions become symbols of one library, so names are unique. */
static void check_launch_names(struct check *c)
{
	struct mpk_strmap names = { 0 };

	for (size_t i = 0; i < c->draft->launch_count; i++) {
		struct mpk_toml_str name = c->draft->launches[i].launch.name;
		size_t first = i;

		if (!name.text)
			continue;
		if (mpk_strmap_put(&names, mpk_toml_str_span(name), i, &first) < 0)
			c->r->failed = true;
		else if (first != i)
			mpk_toml_read_error(c->r, name.pos, "duplicate-function",
					    "there are two launch functions '%s'", QUOTE(name));
	}
	mpk_strmap_fini(&names);
}

/* --- rules about the graph, if every name in it is known ------------------------------ */

/* Copies the modules for graph.c without their contents, as only their order matters. */
static struct mpk_module *graph_of(struct check *c, struct mpk_arena *scratch)
{
	size_t count = c->draft->module_count;
	struct mpk_module *modules = mpk_arena_array(scratch, count, sizeof *modules);

	for (size_t i = 0; modules && i < count; i++) {
		const struct mpk_manifest_module *m = &c->draft->modules[i];

		modules[i] = (struct mpk_module){
			.name = mpk_toml_str_span(m->id),
			.kind = mpk_toml_str_span(m->key),
			.is_host = m->is_host,
			.imports = m->import_index,
			.import_count = m->imports.count,
		};
	}
	return modules;
}

/* Returns the position of the import that closes the cycle. */
static struct mpk_pos closing_import(const struct check *c, const struct mpk_cycle *cycle)
{
	size_t last = cycle->merged ? cycle->count - 2 : cycle->count - 1;
	size_t target = cycle->modules[cycle->merged ? cycle->count - 1 : 0];
	const struct mpk_manifest_module *m = &c->draft->modules[cycle->modules[last]];

	for (size_t i = 0; i < m->imports.count; i++)
		if (m->import_index[i] == target)
			return m->imports.items[i].pos;
	return m->pos;
}

/* Returns the position of a module in the order; for every host module, the position of the first
 *         one. */
static size_t position_of(const struct check *c, size_t module)
{
	size_t first = 0;

	if (!c->draft->modules[module].is_host)
		return module;
	while (!c->draft->modules[first].is_host)
		first++;
	return first;
}

/* keep_order requires that every module precedes the modules that it imports.
 * Returns  whether a module does not */
static bool check_kept_order(struct check *c)
{
	size_t errors = c->r->report->errors;

	for (size_t i = 0; c->draft->package.keep_order && i < c->draft->module_count; i++) {
		const struct mpk_manifest_module *m = &c->draft->modules[i];

		for (size_t k = 0; k < m->imports.count; k++)
			if (position_of(c, m->import_index[k]) < position_of(c, i))
				mpk_toml_read_error(
					c->r, m->imports.items[k].pos, "keep-order",
					"with 'keep_order' a module stands before those it imports, but '%s' stands before '%s'",
					QUOTE(m->imports.items[k]), QUOTE(m->id));
	}
	return c->r->report->errors != errors;
}

/* Whether all imports in the file were read: an import of the wrong type could also name a
 * module. */
static bool imports_are_known(const struct mpk_report *report, size_t errors_before)
{
	static const char *const fatal[] = { "missing-key",   "empty-value",  "wrong-type",
					     "empty",         "duplicate-id", "unknown-root",
					     "unknown-import" };

	if (report->errors == errors_before)
		return true;
	if (report->dropped)
		return false;
	for (size_t i = 0; i < report->count; i++)
		for (size_t k = 0; k < MPK_ARRAY_COUNT(fatal); k++)
			if (strcmp(report->findings[i].check, fatal[k]) == 0)
				return false;
	return true;
}

/* Reports a cycle, and then nothing else about the graph: without an order, other rules cannot be
 * checked. Otherwise computes the order, which tells the modules that the root does not reach. */
static void check_graph(struct check *c)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	size_t count = c->draft->module_count, root = c->draft->package.root_index;
	struct mpk_module *modules = graph_of(c, &scratch);
	bool *unreached = mpk_arena_array(&scratch, count, sizeof *unreached);
	struct mpk_graph graph = { modules, count, root, false };
	struct mpk_cycle cycle = { 0 };
	struct mpk_tree tree;

	if (!modules || !unreached ||
	    mpk_graph_find_cycle(&graph, &scratch, &cycle, NULL) != MPK_OK) {
		c->r->failed = true;
		return;
	}
	if (cycle.count) {
		struct mpk_error err = { 0 };

		(void)mpk_cycle_fail(&cycle, modules, &err);
		mpk_toml_read_error(c->r, closing_import(c, &cycle), "cycle", "%s", err.text);

		return;
	}
	if (check_kept_order(c))
		return;
	if (mpk_graph_order(&graph, c->draft->package.gen, &scratch, &tree, unreached, NULL) !=
	    MPK_OK)
		c->r->failed = true;
	for (size_t i = 0; i < count; i++)
		if (unreached[i] && !c->draft->launch_count &&
		    imports_are_known(c->r->report, c->errors_before))
			mpk_toml_read_warn(
				c->r, c->draft->modules[i].id.pos, "unreached",
				"the root '%s' does not import '%s', directly or indirectly: it is left out",
				QUOTE(c->draft->modules[root].id), QUOTE(c->draft->modules[i].id));
}

/* Each row is a rule. Rules that need names run only if every id and import is valid. */
static const struct {
	void (*run)(struct check *c);
	bool needs_names;
} checks[] = {
	{ check_not_empty, false },    { check_ids, false },       { check_root, false },
	{ check_imports, false },      { check_host_code, false }, { check_function_names, false },
	{ check_launch_names, false }, { check_graph, true },
};

/* --- reading from beginning to end ---------------------------------------------------- */

/* Returns the folder with its slash, to be put before a file name; "" for the current folder. */
static const char *dir_of(struct mpk_arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	/* compilers take "-d/x.c" for an option and "@d/x.c" for a file of options */
	const char *here = *path == '-' || *path == '@' ? "./" : "";

	return slash ? mpk_arena_printf(arena, "%s%.*s", here, (int)(slash - path) + 1, path) : "";
}

/* Passes on a manifest even if it has errors, as far as possible, so that later steps find more of
 * them. */
static bool publish(struct mpk_toml_reader *r, const struct mpk_manifest_draft *draft,
		    struct mpk_manifest *out)
{
	struct mpk_manifest_launch *launches =
		mpk_arena_array(r->arena, draft->launch_count, sizeof *launches);

	if (!launches)
		return false;
	for (size_t i = 0; i < draft->launch_count; i++)
		launches[i] = draft->launches[i].launch;
	*out = draft->package;
	out->modules = draft->modules;
	out->module_count = draft->module_count;
	out->launches = launches;
	out->launch_count = draft->launch_count;
	out->path = mpk_arena_text(r->arena, mpk_span_str(r->path));
	out->dir = dir_of(r->arena, r->path);
	return out->path && out->dir;
}

static enum mpk_code fail_with_first(const struct mpk_report *report, struct mpk_error *err)
{
	for (size_t i = 0; i < report->count; i++) {
		if (report->findings[i].severity != MPK_ERROR)
			continue;
		if (err)
			*err = report->findings[i].error;
		return MPK_E_SYNTAX;
	}
	return mpk_fail(err, MPK_E_SYNTAX, "the manifest has errors");
}

static enum mpk_code parse_toml(struct mpk_toml_reader *r, struct mpk_span text,
				struct mpk_toml *root, struct mpk_error *err)
{
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_toml_parse(text, r->arena, root, &why);

	mpk_error_at_file(&why, r->path);
	if (code == MPK_E_SYNTAX) /* a syntax error hides all other findings */
		mpk_report_add(r->report, MPK_ERROR, "syntax", &why);
	if (code != MPK_OK && err)
		*err = why;
	return code;
}

/* Text that is not TOML gives one finding; all other findings are about tables. */
enum mpk_code mpk_manifest_parse(struct mpk_span text, const char *path,
				 const struct mpk_words *granted, struct mpk_arena *arena,
				 struct mpk_report *report, struct mpk_manifest *out,
				 struct mpk_error *err)
{
	struct mpk_manifest_draft draft = { .package = { .granted = granted } };
	struct mpk_toml root;
	struct mpk_toml_reader r = {
		.arena = arena, .report = report, .path = path, .user = &draft.package
	};
	size_t errors_before = report->errors;

	MPK_TRY(parse_toml(&r, text, &root, err));
	mpk_toml_read_table(&r, &mpk_manifest_schema, &root, &draft);

	struct check c = { .r = &r,
			   .draft = &draft,
			   .has_modules = mpk_toml_find(&root, "module"),
			   .errors_before = errors_before };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(checks); i++)
		if (!checks[i].needs_names || (!c.unresolved && draft.module_count))
			checks[i].run(&c);
	mpk_strmap_fini(&c.ids);
	if (!publish(&r, &draft, out) || r.failed || report->failed)
		return mpk_fail_nomem(err);
	out->valid = report->errors == errors_before;
	return out->valid ? MPK_OK : fail_with_first(report, err);
}
