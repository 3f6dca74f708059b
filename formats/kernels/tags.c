/* SPDX-License-Identifier: Apache-2.0 */
/* tags.c - launch tags in both spellings; which of them a caller passes a value for */
#include "kernels/kernels.h"

#include "base/compiler.h"

static const struct {
	const char *text;
	enum mpk_launch_tag tag;
} tags[] = {
	{ "blockIdx.x", MPK_TAG_GRID_X },
	{ "blockIdx.y", MPK_TAG_GRID_Y },
	{ "blockIdx.z", MPK_TAG_GRID_Z },
	{ "threadIdx.x", MPK_TAG_BLOCK_X },
	{ "threadIdx.y", MPK_TAG_BLOCK_Y },
	{ "threadIdx.z", MPK_TAG_BLOCK_Z },
	{ "clusterCtaIdx.x", MPK_TAG_CLUSTER_X },
	{ "clusterCtaIdx.y", MPK_TAG_CLUSTER_Y },
	{ "clusterCtaIdx.z", MPK_TAG_CLUSTER_Z },
	{ "preferredClusterCtaIdx.x", MPK_TAG_PREFERRED_CLUSTER_X },
	{ "preferredClusterCtaIdx.y", MPK_TAG_PREFERRED_CLUSTER_Y },
	{ "preferredClusterCtaIdx.z", MPK_TAG_PREFERRED_CLUSTER_Z },
	{ "tir.use_dyn_shared_memory", MPK_TAG_DYN_SHARED },
	{ "tirx.use_dyn_shared_memory", MPK_TAG_DYN_SHARED },
	/* "programtic" is how TVM spells it */
	{ "tir.use_programtic_dependent_launch", MPK_TAG_PROGRAMMATIC },
	{ "tirx.use_programtic_dependent_launch", MPK_TAG_PROGRAMMATIC },
	{ "tir.use_cooperative_launch", MPK_TAG_COOPERATIVE },
	{ "tirx.use_cooperative_launch", MPK_TAG_COOPERATIVE },
};

enum mpk_launch_tag mpk_launch_tag_parse(struct mpk_span tag)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tags); i++) {
		if (mpk_span_is(tag, tags[i].text))
			return tags[i].tag;
	}
	return mpk_span_starts(tag, "paramWriteAccess:[") ? MPK_TAG_WRITE_ACCESS : MPK_TAG_UNKNOWN;
}

bool mpk_launch_tag_takes_argument(enum mpk_launch_tag tag)
{
	return tag <= MPK_TAG_DYN_SHARED;
}

const struct mpk_function_info *mpk_kernels_find(const struct mpk_kernels *k, struct mpk_span key)
{
	for (size_t i = 0; i < k->function_count; i++) {
		if (mpk_span_equal(k->functions[i].key, key))
			return &k->functions[i];
	}
	return NULL;
}
