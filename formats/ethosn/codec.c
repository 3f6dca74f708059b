/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - Arm Ethos-N networks, with or without sizes of their inputs and outputs
 *
 * Since 0.10 TVM also stores these sizes, and nothing in the payload says whether it has them. So
 * both layouts are tried, and the one is used that ends where another item may begin. */
#include "ethosn/ethosn.h"

#include "payload.h"
#include "wire.h"

/* --- reading either layout --- */

/* name, network and two lists, all empty */
enum { NETWORK_MIN = 4 * 8 };

/* The sizes have no count of their own: there are as many as inputs or outputs. */
static enum mpk_code read_ports(struct mpk_cursor *c, const char *what, bool has_sizes,
				struct mpk_span *order, struct mpk_span *sizes,
				struct mpk_error *err)
{
	MPK_TRY(mpk_read_words(c, what, 4, order, err));
	*sizes = mpk_span_of(c->bytes.data + c->pos, 0);
	return has_sizes ? mpk_read_bytes(c, what, order->len, sizes, err) : MPK_OK;
}

static enum mpk_code read_variant(struct mpk_cursor *c, bool has_sizes, struct mpk_arena *arena,
				  struct mpk_ethosn *out, struct mpk_error *err)
{
	struct mpk_ethosn_network *networks;
	size_t count;

	MPK_TRY(mpk_read_count(c, "networks", NETWORK_MIN, &count, err));
	MPK_TRY_ARRAY(networks, arena, count, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_ethosn_network *n = &networks[i];

		MPK_TRY(mpk_read_str(c, "network name", &n->name, err));
		MPK_TRY(mpk_read_str(c, "compiled network", &n->compiled, err));
		MPK_TRY(read_ports(c, "inputs", has_sizes, &n->input_order, &n->input_sizes, err));
		MPK_TRY(read_ports(c, "outputs", has_sizes, &n->output_order, &n->output_sizes,
				   err));
	}
	*out = (struct mpk_ethosn){ networks, count, has_sizes };
	return MPK_OK;
}

/* Reads a payload; finds out by trying whether it has sizes
 * @unbounded  the payload's length is not known: the next module's kind may follow
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM */
static enum mpk_code ethosn_read(struct mpk_cursor *c, bool unbounded, struct mpk_arena *arena,
				 struct mpk_ethosn *out, struct mpk_error *err)
{
	struct mpk_cursor with = *c, without = *c;
	struct mpk_ethosn sized, unsized;
	/* The error of a first attempt is not reported. */
	enum mpk_code with_code = read_variant(&with, true, arena, &sized, NULL);

	if (with_code == MPK_OK && mpk_item_follows(&with, unbounded)) {
		*c = with;
		*out = sized;
		return MPK_OK;
	}

	enum mpk_code code =
		read_variant(&without, false, arena, &unsized, with_code == MPK_OK ? NULL : err);
	/* If both read but neither ends well, the later release is more likely. */
	if (code == MPK_OK && (with_code != MPK_OK || mpk_item_follows(&without, unbounded))) {
		*c = without;
		*out = unsized;
		return MPK_OK;
	}
	if (with_code != MPK_OK)
		return code;
	*c = with;
	*out = sized;
	return MPK_OK;
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code ethosn_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					 struct mpk_payload *out, struct mpk_error *err)
{
	return ethosn_read(c, out->gen != MPK_GEN_CURRENT, arena, &out->u.ethosn, err);
}

static enum mpk_code ethosn_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_ethosn *e = &p->u.ethosn;

	for (size_t i = 0; i < e->count; i++) {
		const struct mpk_ethosn_network *n = &e->networks[i];
		struct mpk_extracted_file file = { .data = n->compiled,
						   .stored = true,
						   .title = n->name };

		MPK_TRY(mpk_files_add(files, mpk_files_name(files, "networks/", n->name, ".bin"),
				      file));
	}
	return MPK_OK;
}

const struct mpk_payload_reader mpk_reader_ethosn = { MPK_PAYLOAD_ETHOSN, ethosn_read_payload };
const struct mpk_codec mpk_codec_ethosn = { &mpk_reader_ethosn, ethosn_list_files };
