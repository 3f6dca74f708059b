/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - Relay VM executables of three layouts
 *
 * The version inside names the likely layout. A reader of one layout often fits the first bytes of another by
 * chance. Therefore a layout is accepted only when it reads to the end of the string that holds the executable. */
#include "relayvm/relayvm.h"

#include <inttypes.h>

#include "base/num.h"
#include "payload.h"

#define MPK_RELAY_MAGIC UINT64_C(0xD225DE2F4214151D)

/* The fewest bytes of a device, attributes, a function, an instruction. */
enum { DEVICE_MIN = 8, ATTRS_MIN = 16, FUNC_MIN = 8 + 3 * 8 + 8 + 8, INSTR_MIN = 8 + 2 * 8 };

struct reader {
	struct mpk_cursor c; /* over the inner string */
	struct mpk_arena *arena;
	struct mpk_relay *x;
	struct mpk_error *err;
};

/* 0.8 has no virtual devices; memory scopes came with 0.14. */
static enum mpk_code read_devices(struct reader *r)
{
	struct mpk_relay_device *devices;

	if (r->x->layout == MPK_RELAY_08)
		return MPK_OK;
	MPK_TRY(mpk_read_count(&r->c, "virtual devices", DEVICE_MIN, &r->x->device_count, r->err));
	devices = mpk_arena_array(r->arena, r->x->device_count, sizeof *devices);
	if (!devices)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < r->x->device_count; i++) {
		MPK_TRY(mpk_read_i32(&r->c, "device type", &devices[i].type, r->err));
		MPK_TRY(mpk_read_i32(&r->c, "device id", &devices[i].id, r->err));
		if (r->x->layout == MPK_RELAY_14)
			MPK_TRY(mpk_read_str(&r->c, "memory scope", &devices[i].scope, r->err));
	}
	r->x->devices = devices;
	return mpk_read_i32(&r->c, "host device", &r->x->host_device, r->err);
}

/* From 0.9 on a constant may be late-bound: it has a name instead of a tensor. */
static enum mpk_code read_const(struct reader *r, struct mpk_relay_const *k)
{
	uint64_t start = mpk_cursor_offset(&r->c);
	uint32_t late = 0;

	if (r->x->layout != MPK_RELAY_08)
		MPK_TRY(mpk_read_u32(&r->c, "constant", &late, r->err));
	if (late > 1)
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "constant kind %" PRIu32 " is not known", late);
	k->late_bound = late == 1;
	if (k->late_bound)
		return mpk_read_str(&r->c, "constant name", &k->name, r->err);
	return mpk_tensor_read(&r->c, r->arena, &k->tensor, r->err);
}

/* A constant takes at least a kind and a length. */
static enum mpk_code read_consts(struct reader *r)
{
	struct mpk_relay_const *consts;

	MPK_TRY(mpk_read_count(&r->c, "constants", 4 + 8, &r->x->const_count, r->err));
	consts = mpk_arena_array(r->arena, r->x->const_count, sizeof *consts);
	if (!consts)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < r->x->const_count; i++) {
		enum mpk_code code = read_const(r, &consts[i]);

		if (code != MPK_OK) {
			mpk_error_prefix(r->err, "constant %zu: ", i);
			return code;
		}
	}
	r->x->consts = consts;
	return mpk_read_words(&r->c, "constant devices", 8, &r->x->const_devices, r->err);
}

/* Whether an instruction has the fields of its opcode. 'n' is the number of further fields; it is
 * compared as unsigned, so that a negative number never fits. */
static bool relay_fits(const struct mpk_relay_instr *instr, enum mpk_relay_layout layout)
{
	const struct mpk_relay_shape *shape = mpk_relay_shape(mpk_relay_word(instr, 0), layout);
	size_t fixed, rest = 0;
	const char *n;

	if (!shape)
		return false;
	fixed = strlen(shape->fields);
	if (instr->count - 1 < fixed)
		return false;
	n = strchr(shape->fields, 'n');
	if (n)
		rest = (size_t)mpk_relay_word(instr, 1 + (size_t)(n - shape->fields));
	return instr->count - 1 - fixed == rest;
}

static uint64_t relay_hash(const struct mpk_relay_instr *instr)
{
	uint64_t key = (uint64_t)mpk_relay_word(instr, 0);

	for (size_t i = 1; i < instr->count; i++)
		key ^= (uint64_t)mpk_relay_word(instr, i) + 0x9e3779b9 + (key << 6) + (key >> 2);
	return key;
}

/* The hash before each instruction shows damage. The fields must be those of the opcode: later
 * readers rely on that. */
static enum mpk_code relayvm_read_instr(struct reader *r, struct mpk_relay_instr *instr)
{
	uint64_t start = mpk_cursor_offset(&r->c);
	struct mpk_span words;

	MPK_TRY(mpk_read_words(&r->c, "instruction", 8, &words, r->err));
	if (words.len < 16)
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "instruction without hash and opcode");
	*instr = (struct mpk_relay_instr){ words.data + 8, words.len / 8 - 1 };
	if (relay_hash(instr) != mpk_load_u64(words.data))
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "instruction does not agree with its hash");
	if (!relay_fits(instr, r->x->layout))
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "no instruction has opcode %" PRId64 " and %zu fields",
				       mpk_relay_word(instr, 0), instr->count - 1);
	return MPK_OK;
}

/* A function's name and two numbers are stored as a list of three strings. */
static enum mpk_code relayvm_read_func(struct reader *r, struct mpk_relay_func *f)
{
	uint64_t start = mpk_cursor_offset(&r->c), count;
	struct mpk_relay_instr *instrs;

	MPK_TRY(mpk_read_strs(&r->c, "function", r->arena, &f->info, r->err));
	if (f->info.count != 3 || !mpk_parse_u64(f->info.items[1], &f->register_file_size) ||
	    !mpk_parse_u64(f->info.items[2], &count))
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "function is not a name and two numbers");
	MPK_TRY(mpk_read_strs(&r->c, "parameter names", r->arena, &f->params, r->err));
	MPK_TRY(mpk_read_words(&r->c, "parameter devices", 8, &f->param_devices, r->err));
	if (count > mpk_cursor_left(&r->c) / INSTR_MIN)
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c.space, start,
				       "%" PRIu64 " instructions do not fit in the %zu bytes left",
				       count, mpk_cursor_left(&r->c));
	f->instr_count = (size_t)count;
	instrs = mpk_arena_array(r->arena, f->instr_count, sizeof *instrs);
	if (!instrs)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < f->instr_count; i++)
		MPK_TRY(relayvm_read_instr(r, &instrs[i]));
	f->instrs = instrs;
	return MPK_OK;
}

/* Reads everything after the version, in the layout of r->x. */
static enum mpk_code relayvm_read_body(struct reader *r)
{
	MPK_TRY(read_devices(r));
	MPK_TRY(mpk_read_strs(&r->c, "globals", r->arena, &r->x->globals, r->err));
	MPK_TRY(read_consts(r));
	MPK_TRY(mpk_read_strs(&r->c, "primitives", r->arena, &r->x->primitives, r->err));

	/* Pairs of strings for each packed function. */
	struct mpk_relay_attrs *attrs;

	MPK_TRY(mpk_read_count(&r->c, "attributes", ATTRS_MIN, &r->x->attr_count, r->err));
	attrs = mpk_arena_array(r->arena, r->x->attr_count, sizeof *attrs);
	if (!attrs)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < r->x->attr_count; i++) {
		struct mpk_span *pairs;

		MPK_TRY(mpk_read_u64(&r->c, "attributes", &attrs[i].packed_index, r->err));
		MPK_TRY(mpk_read_count(&r->c, "attributes", 16, &attrs[i].count, r->err));
		pairs = mpk_arena_array(r->arena, attrs[i].count * 2, sizeof *pairs);
		if (!pairs)
			return mpk_fail_nomem(r->err);
		for (size_t j = 0; j < attrs[i].count * 2; j++)
			MPK_TRY(mpk_read_str(&r->c, "attribute", &pairs[j], r->err));
		attrs[i].pairs = pairs;
	}
	r->x->attrs = attrs;

	/* Functions come after everything that instructions refer to by index. */
	struct mpk_relay_func *funcs;

	MPK_TRY(mpk_read_count(&r->c, "functions", FUNC_MIN, &r->x->func_count, r->err));
	funcs = mpk_arena_array(r->arena, r->x->func_count, sizeof *funcs);
	if (!funcs)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < r->x->func_count; i++)
		MPK_TRY(relayvm_read_func(r, &funcs[i]));
	r->x->funcs = funcs;

	r->x->trailing = mpk_cursor_left(&r->c);
	return MPK_OK;
}

/* 0.8 has the first layout, 0.9 to 0.13 the second, later releases the third; another major number
 * means a later release. */
static enum mpk_relay_layout layout_of(struct mpk_span version)
{
	uint64_t minor = 0;

	/* "0.18.0", "0.14.dev212+gabc" */
	for (size_t i = 2;
	     i < version.len && i < 5 && version.data[i] >= '0' && version.data[i] <= '9'; i++)
		minor = minor * 10 + (uint64_t)(version.data[i] - '0');
	if (!mpk_span_starts(version, "0.") || minor >= 14)
		return MPK_RELAY_14;
	return minor >= 9 ? MPK_RELAY_09 : MPK_RELAY_08;
}

/* Tries the layout of the version first, then the others, because a development build may have
 * either. */
static enum mpk_code read_layouts(struct mpk_cursor c, struct mpk_arena *arena,
				  struct mpk_relay *out, struct mpk_error *err)
{
	enum mpk_relay_layout likely = layout_of(out->version);
	struct reader first = { c, arena, out, err };
	struct mpk_relay x = *out;

	out->layout = likely;
	enum mpk_code code = relayvm_read_body(&first);

	for (unsigned i = 0; i < MPK_RELAY_LAYOUTS && (code != MPK_OK || out->trailing); i++) {
		struct mpk_relay other = x;
		struct reader r = { c, arena, &other, NULL };

		other.layout = (enum mpk_relay_layout)i;
		if (other.layout != likely && relayvm_read_body(&r) == MPK_OK && !other.trailing) {
			*out = other;
			return MPK_OK;
		}
	}
	return code;
}

/* Reads a payload of kind VMExecutable
 * The layout follows from the version or, if that does not fit, from the bytes. Every instruction's
 * hash, opcode and number of fields are checked; operands are not.
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM */
static enum mpk_code relay_read(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_relay *out, struct mpk_error *err)
{
	struct mpk_cursor at = *c, inner;
	struct mpk_relay x = { 0 };
	struct mpk_span content;
	uint64_t magic;

	MPK_TRY(mpk_read_str(&at, "Relay executable", &content, err));
	inner = mpk_cursor_of(content, mpk_cursor_offset(&at) - content.len, c->space);
	MPK_TRY(mpk_read_u64(&inner, "Relay executable", &magic, err));
	if (magic != MPK_RELAY_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, inner.base,
				       "no Relay executable: magic number %#" PRIx64, magic);
	MPK_TRY(mpk_read_str(&inner, "TVM version", &x.version, err));
	MPK_TRY(read_layouts(inner, arena, &x, err));
	*out = x;
	*c = at;
	return MPK_OK;
}

static enum mpk_code relayvm_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					  struct mpk_payload *out, struct mpk_error *err)
{
	MPK_TRY(relay_read(c, arena, &out->u.relay, err));
	out->trailing = out->u.relay.trailing;
	return MPK_OK;
}

const struct mpk_payload_reader mpk_reader_relay = { MPK_PAYLOAD_RELAY, relayvm_read_payload };

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code relayvm_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_relay *x = &p->u.relay;
	struct mpk_strbuf listing = { 0 };

	for (size_t i = 0; i < x->const_count; i++) {
		if (!x->consts[i].late_bound)
			MPK_TRY(mpk_files_add_tensor(
				files, mpk_arena_printf(files->arena, "constants/%zu", i),
				(struct mpk_span){ 0 }, &x->consts[i].tensor));
	}
	mpk_relay_dump(x, MPK_RELAY_ALL, &listing);
	return mpk_files_add_text(files, "bytecode.txt", &listing);
}

const struct mpk_codec mpk_codec_relay = { &mpk_reader_relay, relayvm_list_files };
