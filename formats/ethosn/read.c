/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - Arm Ethos-N networks, with or without sizes of their ports: releases differ */
#include "ethosn/ethosn.h"

#include "wire.h"

/* name, network and two lists, all empty */
enum { NETWORK_MIN = 4 * 8 };

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
	networks = mpk_arena_array(arena, count, sizeof *networks);
	MPK_TRY_ALLOC(networks, err);
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

enum mpk_code mpk_ethosn_read(struct mpk_cursor *c, bool unbounded, struct mpk_arena *arena,
			      struct mpk_ethosn *out, struct mpk_error *err)
{
	struct mpk_cursor with = *c, without = *c;
	struct mpk_ethosn sized, unsized;
	/* What is wrong with one that was only tried is nobody's error. */
	enum mpk_code with_code = read_variant(&with, true, arena, &sized, NULL);

	if (with_code == MPK_OK && mpk_item_follows(&with, unbounded)) {
		*c = with;
		*out = sized;
		return MPK_OK;
	}

	enum mpk_code code =
		read_variant(&without, false, arena, &unsized, with_code == MPK_OK ? NULL : err);
	/* When both read but neither ends well, the later release is the likelier writer. */
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
