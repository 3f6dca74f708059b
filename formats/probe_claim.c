#include "probe.h"

#include "base/compiler.h"

/* One format of one kind: what its bytes are, and what else is let through. */
struct rule {
	const char *kind, *format;
	enum mpk_probe is, also;
};

static const struct rule rules[] = {
	{ "cuda", "ptx", MPK_PROBE_PTX, MPK_PROBE_PTX },
	{ "cuda", "cubin", MPK_PROBE_CUBIN, MPK_PROBE_FATBIN }, /* TVM labels fatbins so */
	{ "cuda", "fatbin", MPK_PROBE_FATBIN, MPK_PROBE_FATBIN },
	{ "cuda", "cuda", MPK_PROBE_CUDA, MPK_PROBE_TEXT },
	{ "opencl", "cl", MPK_PROBE_OPENCL, MPK_PROBE_TEXT },
	{ "opencl", "xclbin", MPK_PROBE_XCLBIN, MPK_PROBE_XCLBIN },
	{ "opencl", "awsxclbin", MPK_PROBE_XCLBIN, MPK_PROBE_XCLBIN },
	{ "sdaccel", "xclbin", MPK_PROBE_XCLBIN, MPK_PROBE_XCLBIN },
	{ "sdaccel", "awsxclbin", MPK_PROBE_XCLBIN, MPK_PROBE_XCLBIN },
	{ "metal", "metal", MPK_PROBE_METAL, MPK_PROBE_TEXT },
	{ "metal", "metallib", MPK_PROBE_METALLIB, MPK_PROBE_METALLIB },
	{ "vulkan", "vulkan", MPK_PROBE_SPIRV, MPK_PROBE_SPIRV },
	{ "vulkan", "spirv", MPK_PROBE_SPIRV, MPK_PROBE_SPIRV },
	{ "hip", "hsaco", MPK_PROBE_HSACO, MPK_PROBE_HSACO },
	{ "hip", "hip", MPK_PROBE_HSACO, MPK_PROBE_HSACO },
	{ "hsaco", "hsaco", MPK_PROBE_HSACO, MPK_PROBE_HSACO },
	{ "hsaco", "hip", MPK_PROBE_HSACO, MPK_PROBE_HSACO },
	{ "rocm", "hsaco", MPK_PROBE_HSACO, MPK_PROBE_HSACO },
	{ "hexagon", "so", MPK_PROBE_HEXAGON, MPK_PROBE_HEXAGON },
	{ "hex", "so", MPK_PROBE_HEXAGON, MPK_PROBE_HEXAGON },
	{ "webgpu", "wgsl", MPK_PROBE_WGSL, MPK_PROBE_TEXT },
};

const char *mpk_probe_format(struct mpk_span kind, enum mpk_probe probe)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rules); i++)
		if (mpk_span_is(kind, rules[i].kind) && rules[i].is == probe)
			return rules[i].format;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rules); i++)
		if (mpk_span_is(kind, rules[i].kind) && rules[i].also == probe)
			return rules[i].format;
	return NULL;
}

static const struct rule *find_rule(struct mpk_span kind, struct mpk_span format)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rules); i++)
		if (mpk_span_is(kind, rules[i].kind) && mpk_span_is(format, rules[i].format))
			return &rules[i];
	return NULL;
}

static bool accepts(const struct rule *rule, enum mpk_probe found)
{
	return rule->is == found || rule->also == found;
}

enum mpk_probe mpk_probe_expected(struct mpk_span kind, struct mpk_span format)
{
	const struct rule *rule = find_rule(kind, format);

	return rule ? rule->is : MPK_PROBE_UNKNOWN;
}

bool mpk_probe_fits(struct mpk_span kind, struct mpk_span format, enum mpk_probe probe)
{
	const struct rule *rule = find_rule(kind, format);

	return !rule || accepts(rule, probe);
}

static enum mpk_code fail_claim(const struct rule *rule, struct mpk_span kind, enum mpk_probe found,
				struct mpk_error *err)
{
	const char *format = mpk_probe_format(kind, found);

	if (format)
		return mpk_fail(
			err, MPK_E_CORRUPT,
			"format \"%s\" of kind \"%s\" expects %s, but this is %s (its format \"%s\")",
			rule->format, rule->kind, mpk_probe_name(rule->is), mpk_probe_name(found),
			format);
	return mpk_fail(err, MPK_E_CORRUPT,
			"format \"%s\" of kind \"%s\" expects %s, but this is %s", rule->format,
			rule->kind, mpk_probe_name(rule->is), mpk_probe_name(found));
}

/* What this kind can hold: for a manifest that says no format. */
static enum mpk_code fail_kind(const struct rule *first, enum mpk_probe found,
			       struct mpk_error *err)
{
	return mpk_fail(
		err, MPK_E_CORRUPT,
		"a module of kind \"%s\" cannot hold this: it is %s; expected was %s or another of its formats",
		first->kind, mpk_probe_name(found), mpk_probe_name(first->is));
}

/* *known: kind and format stand in the table, so that the claim could be checked. */
static enum mpk_code check_claim(struct mpk_span kind, struct mpk_span format, enum mpk_probe found,
				 bool *known, struct mpk_error *err)
{
	const struct rule *first = NULL, *claimed = find_rule(kind, format);

	*known = true;
	if (claimed)
		return accepts(claimed, found) ? MPK_OK : fail_claim(claimed, kind, found, err);
	for (size_t i = 0; !format.len && i < MPK_ARRAY_COUNT(rules); i++) {
		if (!mpk_span_is(kind, rules[i].kind))
			continue;
		if (accepts(&rules[i], found))
			return MPK_OK;
		if (!first)
			first = &rules[i];
	}
	*known = false;
	return first ? fail_kind(first, found, err) : MPK_OK;
}

enum mpk_code mpk_probe_check(struct mpk_span bytes, struct mpk_span kind, struct mpk_span format,
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_probe_names names;
	bool known;

	MPK_TRY(check_claim(kind, format, mpk_probe(bytes), &known, err));
	return known ? mpk_probe_kernels(bytes, &arena, &names, err) : MPK_OK;
}
