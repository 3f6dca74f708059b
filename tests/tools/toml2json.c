/* toml2json - TOML on stdin as the tagged JSON of the toml-test corpus on stdout
 * With --positions: one line "KEY LINE:COLUMN" for every key instead.
 * Exit: 0 parsed; 1 refused, with LINE:COLUMN and the sentence on stderr; 2 no input. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "io/mapping.h"
#include "manifest/toml.h"

static void put_string(const char *text, size_t len)
{
	(void)putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\' || c < 0x20)
			(void)printf("\\u%04x", c);
		else
			(void)putchar(c);
	}
	(void)putchar('"');
}

static void put_number(double v)
{
	if (isnan(v))
		(void)fputs("nan", stdout);
	else if (isinf(v))
		(void)fputs(v < 0 ? "-inf" : "inf", stdout);
	else
		(void)printf("%.17g", v);
}

static const char *const tags[] = {
	[MPK_TOML_STRING] = "string",     [MPK_TOML_INTEGER] = "integer",
	[MPK_TOML_FLOAT] = "float",       [MPK_TOML_BOOLEAN] = "bool",
	[MPK_TOML_DATETIME] = "datetime", [MPK_TOML_LOCAL_DATETIME] = "datetime-local",
	[MPK_TOML_DATE] = "date-local",   [MPK_TOML_TIME] = "time-local",
};

static void put_scalar(const struct mpk_toml *v)
{
	(void)printf("{\"type\":\"%s\",\"value\":", tags[v->type]);
	if (v->text)
		put_string(v->text, v->len);
	else
		(void)putchar('"');
	if (v->type == MPK_TOML_INTEGER)
		(void)printf("%" PRId64, v->integer);
	else if (v->type == MPK_TOML_FLOAT)
		put_number(v->number);
	else if (v->type == MPK_TOML_BOOLEAN)
		(void)fputs(v->boolean ? "true" : "false", stdout);
	(void)fputs(v->text ? "}" : "\"}", stdout);
}

static void put_value(const struct mpk_toml *v)
{
	bool table = v->type == MPK_TOML_TABLE;

	if (!table && v->type != MPK_TOML_ARRAY) {
		put_scalar(v);
		return;
	}
	(void)putchar(table ? '{' : '[');
	for (size_t i = 0; i < v->count; i++) {
		if (i)
			(void)putchar(',');
		if (table) {
			put_string(v->entries[i].key, v->entries[i].key_len);
			(void)putchar(':');
		}
		put_value(&v->entries[i].value);
	}
	(void)putchar(table ? '}' : ']');
}

static void put_positions(const struct mpk_toml *v)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct mpk_toml_entry *e = &v->entries[i];

		(void)printf("%s %u:%u %u:%u\n", e->key ? e->key : "-", e->pos.line, e->pos.column,
			     e->value.pos.line, e->value.pos.column);
		put_positions(&e->value);
	}
}

int main(int argc, char **argv)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping in = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_toml root;

	if (mpk_mapping_open("-", &in, &err) != MPK_OK) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	if (mpk_toml_parse(in.bytes, &arena, &root, &err) != MPK_OK) {
		(void)fprintf(stderr, "%u:%u: %s\n", err.at.line, err.at.column, err.text);
		return 1;
	}
	if (argc > 1 && strcmp(argv[1], "--positions") == 0)
		put_positions(&root);
	else
		put_value(&root);
	(void)putchar('\n');
	return 0;
}
