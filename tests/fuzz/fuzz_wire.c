/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire - any bytes as the reply of a child that ran hostile code: values, the result of a call with
 * outputs and observers, an error; what is read can be printed. The first byte says which. */
#include <string.h>

#include "fuzz.h"
#include "session/internal/reply.h"
#include "value/parse.h"

enum { PAGE = 4096 };
enum { PROFILED = 1, DUMPED = 2, COMPARED = 4, WITH_OUTPUTS = 8, AN_ERROR = 16, VALUES = 32 };

static void read_values(struct mpk_wire_map *m)
{
	struct mpk_value v = { 0 };

	while (mpk_wire_get_value(m, &v, NULL) == MPK_OK && m->pos < m->bytes.len) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_value_print(&out, &v, 64);
		fuzz_printable(&out);
		mpk_value_drop(&v);
	}
	mpk_value_drop(&v);
}

static void read_error(struct mpk_wire_map *m)
{
	struct mpk_error err = { 0 };

	(void)mpk_reply_read_error(m, &err);
	FUZZ_REQUIRE(err.code != MPK_OK && err.code < MPK_CODE_COUNT);
	FUZZ_REQUIRE(memchr(err.text, 0, sizeof err.text) && !strchr(err.text, '\033'));
}

static void read_result(struct mpk_wire_map *m, unsigned what)
{
	static const bool is_out[] = { true, false, true };
	struct mpk_value args[3] = { 0 };
	struct mpk_call call = {
		.function = "f",
		.args = args,
		.is_out = is_out,
		.arg_count = what & WITH_OUTPUTS ? 3 : 0,
		.repeat = 2,
		.watch = { .profiles = what & PROFILED,
			   /* never opened here */
			   .dump = what & DUMPED ? (const struct mpk_directory *)&call : NULL,
			   .compare = what & COMPARED ? "" : NULL },
	};
	struct mpk_call_result r = { 0 };

	struct mpk_span name;
	struct mpk_dldevice where;

	FUZZ_REQUIRE(mpk_value_parse_argument("2x3xf32", true, &name, &where, &args[0], NULL) ==
		     MPK_OK);
	FUZZ_REQUIRE(mpk_value_parse_argument("[]i8", true, &name, &where, &args[2], NULL) ==
		     MPK_OK);
	if (mpk_reply_read(&call, m, 1, true, &r, NULL) == MPK_OK && what & WITH_OUTPUTS) {
		FUZZ_REQUIRE(r.count >= 2 && r.values[0].kind == MPK_VALUE_TENSOR);
		FUZZ_REQUIRE(r.values[0].tensor->bytes == 24);
	}
	for (size_t i = 0; i < r.count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_value_print(&out, &r.values[i], 64);
		fuzz_printable(&out);
	}
	mpk_call_result_fini(&r);
	mpk_value_drop(&args[0]);
	mpk_value_drop(&args[2]);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	unsigned what = bytes.len ? bytes.data[0] : 0;
	struct mpk_span reply = fuzz_rest(bytes);
	/* as it is mapped: from a page's start, and of its length alone */
	uint8_t *copy = mpk_arena_alloc(arena, reply.len + PAGE);
	struct mpk_wire_map m;

	FUZZ_REQUIRE(copy != NULL);
	copy += (PAGE - (uintptr_t)copy % PAGE) % PAGE;
	if (reply.len)
		memcpy(copy, reply.data, reply.len);
	m = (struct mpk_wire_map){ .bytes = { copy, reply.len } };
	atomic_init(&m.refs, 2); /* it is not the wire's to free */
	if (what & VALUES)
		read_values(&m);
	else if (what & AN_ERROR)
		read_error(&m);
	else
		read_result(&m, what);
}
