#include "ethosn/ethosn.h"
#include "wire.h"

void mpk_ethosn_write(struct mpk_rope *r, const struct mpk_ethosn *e)
{
	mpk_rope_put_u64(r, e->count);
	for (size_t i = 0; i < e->count; i++) {
		const struct mpk_ethosn_network *n = &e->networks[i];

		mpk_rope_put_str(r, n->name);
		mpk_rope_put_blob(r, n->compiled);
		mpk_rope_put_words(r, n->input_order, 4);
		mpk_rope_put_view(r, n->input_sizes);
		mpk_rope_put_words(r, n->output_order, 4);
		mpk_rope_put_view(r, n->output_sizes);
	}
}
