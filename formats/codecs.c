#include "codecs.h"

/* Each codec of formats/<fmt> under the one signature of struct mpk_codec. */

static enum mpk_code read_empty(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	(void)c, (void)arena, (void)out, (void)err;
	return MPK_OK;
}

static void write_empty(const struct mpk_payload *p, struct mpk_rope *rope)
{
	(void)p, (void)rope;
}

const struct mpk_codec mpk_codec_empty = { MPK_PAYLOAD_EMPTY, read_empty, write_empty };

static enum mpk_code read_kernels(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_kernels_read(c, mpk_span_str(out->kind->name), out->gen, arena, &out->u.kernels,
				err);
}

static void write_kernels(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_kernels_write(&p->u.kernels, rope);
}

const struct mpk_codec mpk_codec_kernels = { MPK_PAYLOAD_KERNELS, read_kernels, write_kernels };

static enum mpk_code read_record(struct mpk_cursor *c, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_record_read(c, out->kind->schema, arena, &out->u.record, err);
}

static void write_record(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_record_write(rope, &p->u.record);
}

const struct mpk_codec mpk_codec_record = { MPK_PAYLOAD_RECORD, read_record, write_record };

static void write_factory(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_factory_write(rope, &p->u.factory);
}

static enum mpk_code read_graph(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_factory_read(c, true, arena, &out->u.factory, err);
}

const struct mpk_codec mpk_codec_graph = { MPK_PAYLOAD_FACTORY, read_graph, write_factory };

static enum mpk_code read_aot(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_factory_read(c, false, arena, &out->u.factory, err);
}

const struct mpk_codec mpk_codec_aot = { MPK_PAYLOAD_FACTORY, read_aot, write_factory };

static enum mpk_code read_consts(struct mpk_cursor *c, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_const_loader_read(c, arena, &out->u.consts, err);
}

static void write_consts(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_const_loader_write(rope, &p->u.consts);
}

const struct mpk_codec mpk_codec_consts = { MPK_PAYLOAD_CONSTS, read_consts, write_consts };

static enum mpk_code read_ethosn(struct mpk_cursor *c, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_ethosn_read(c, out->gen != MPK_GEN_CURRENT, arena, &out->u.ethosn, err);
}

static void write_ethosn(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_ethosn_write(rope, &p->u.ethosn);
}

const struct mpk_codec mpk_codec_ethosn = { MPK_PAYLOAD_ETHOSN, read_ethosn, write_ethosn };

static enum mpk_code read_relax(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	MPK_TRY(mpk_relax_read(c, out->gen, arena, &out->u.relax, err));
	out->trailing = out->u.relax.trailing;
	return MPK_OK;
}

static void write_relax(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_relax_write(rope, &p->u.relax);
}

const struct mpk_codec mpk_codec_relax = { MPK_PAYLOAD_RELAX, read_relax, write_relax };

static enum mpk_code read_relay(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	MPK_TRY(mpk_relay_read(c, arena, &out->u.relay, err));
	out->trailing = out->u.relay.trailing;
	return MPK_OK;
}

static void write_relay(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_relay_write(rope, &p->u.relay);
}

const struct mpk_codec mpk_codec_relay = { MPK_PAYLOAD_RELAY, read_relay, write_relay };
