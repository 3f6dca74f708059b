/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - the loader's source text and the table of one library's kernels */
#include "launch/standalone.h"

#include <inttypes.h>
#include <string.h>

/* The loader's source, as it is in the tree: one text of seven files. */
__asm__(".pushsection .rodata,\"a\",@progbits\n"
	".hidden mpk_standalone_source\n"
	".globl mpk_standalone_source\n"
	"mpk_standalone_source:\n"
	".incbin \"lib/pack/launch/standalone/loader.h\"\n"
	".incbin \"lib/ground/base/half.h\"\n"
	".incbin \"formats/dtype/dlpack.h\"\n"
	".incbin \"lib/pack/launch/standalone/shared.c\"\n"
	".incbin \"lib/pack/launch/standalone/cuda.c\"\n"
	".incbin \"lib/pack/launch/standalone/opencl.c\"\n"
	".incbin \"lib/pack/launch/standalone/calls.c\"\n"
	".byte 0\n"
	".popsection\n");
extern const char mpk_standalone_source[];

/* What includes in quotes name is in the text already. */
static void put_source(struct mpk_strbuf *out)
{
	const char *end;

	for (const char *line = mpk_standalone_source; *line; line = end) {
		const char *newline = strchr(line, '\n');

		end = newline ? newline + 1 : line + strlen(line);
		if (strncmp(line, "#include \"", 10) != 0)
			mpk_strbuf_put_span(out, mpk_span_of(line, (size_t)(end - line)));
	}
}

/* The types of a kernel's arguments and the tags that carry values, as two arrays that its
 * row points to. 255 and { 0, 0 } end them, as C has no empty arrays. */
static void standalone_put_kernel(struct mpk_strbuf *out, const struct mpk_standalone_kernel *k,
				  size_t i)
{
	mpk_strbuf_printf(out, "static const unsigned char types_%zu[][2] = {", i);
	for (size_t a = 0; a < k->arg_count; a++)
		mpk_strbuf_printf(out, " { %u, %u },", k->args[a].code, k->args[a].bits);
	mpk_strbuf_printf(out, " { 0, 0 } };\nstatic const unsigned char tags_%zu[] = {", i);
	for (size_t t = 0; t < k->tag_count; t++)
		if (mpk_launch_tag_takes_argument(k->tags[t]))
			mpk_strbuf_printf(out, " %u,", (unsigned)k->tags[t]);
	mpk_strbuf_puts(out, " 255 };\n");
}

/* How many values a caller passes after the arguments. */
static size_t value_tags(const struct mpk_standalone_kernel *k)
{
	size_t n = 0;

	for (size_t t = 0; t < k->tag_count; t++)
		n += mpk_launch_tag_takes_argument(k->tags[t]);
	return n;
}

static int has_tag(const struct mpk_standalone_kernel *k, enum mpk_launch_tag tag)
{
	for (size_t t = 0; t < k->tag_count; t++)
		if (k->tags[t] == tag)
			return 1;
	return 0;
}

/* The rows name the kernels' code by its place in the blob, which is why another blob
 * cannot be put into such a library. */
enum mpk_code mpk_standalone_print(const struct mpk_standalone_kernel *kernels, size_t count,
				   int32_t device_type, enum mpk_generation gen,
				   struct mpk_strbuf *out, struct mpk_error *err)
{
	const char *symbol = mpk_generation_get(gen)->standalone_symbol;

	if (device_type != MPK_DL_CUDA && device_type != MPK_DL_OPENCL)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"standalone libraries are for cuda and opencl kernels");
	if (gen == MPK_GEN_LEGACY)
		mpk_strbuf_puts(out, "#define MPK_SA_LEGACY 1\n");
	put_source(out);
	mpk_strbuf_printf(out, "\nextern const unsigned char %s[];\n", symbol);
	for (size_t i = 0; i < count; i++)
		standalone_put_kernel(out, &kernels[i], i);
	mpk_strbuf_puts(out, "const struct mpk_sa_kernel mpk_sa_kernels[] = {\n");
	for (size_t i = 0; i < count; i++)
		mpk_strbuf_printf(out,
				  "\t{ \"%s\", \"%s\", %s + %" PRIu64 ", %" PRIu64
				  ", types_%zu, %zu, tags_%zu, %zu, %d, %d },\n",
				  kernels[i].name, kernels[i].format, symbol, kernels[i].offset,
				  kernels[i].size, i, kernels[i].arg_count, i,
				  value_tags(&kernels[i]),
				  has_tag(&kernels[i], MPK_TAG_PROGRAMMATIC),
				  has_tag(&kernels[i], MPK_TAG_COOPERATIVE));
	mpk_strbuf_printf(out,
			  "};\nconst unsigned mpk_sa_kernel_count = %zu;\n"
			  "const int mpk_sa_device_type = %" PRId32 ";\n",
			  count, device_type);
	return mpk_strbuf_status(out, err);
}
