#include "kinds.h"

#include "base/compiler.h"
#include "payload.h"

/* --- codecs that need no folder of their own -------------------------------------- */

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

static const struct mpk_codec codec_empty = { MPK_PAYLOAD_EMPTY, read_empty, write_empty };

static enum mpk_code read_kernels(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_kernels_read(c, mpk_span_str(out->kind->name), out->gen, arena,
				&out->u.kernels, err);
}

static void write_kernels(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_kernels_write(&p->u.kernels, rope);
}

static const struct mpk_codec codec_kernels = { MPK_PAYLOAD_KERNELS, read_kernels,
						write_kernels };

/* --- the table ---------------------------------------------------------------------- */

#define NOW MPK_RELEASE_NOW
#define DEVICE(name, title, first, last)                                                 \
	{ name, title, MPK_ROLE_DEVICE, first, last, &codec_kernels, NULL }

static const struct mpk_kind kinds[] = {
	{ "_lib", "host code", MPK_ROLE_HOST, 7, NOW, &codec_empty, NULL },
	DEVICE("cuda", "CUDA kernels", 2, NOW),
	DEVICE("opencl", "OpenCL kernels", 2, NOW),
	DEVICE("metal", "Metal kernels", 2, NOW),
	DEVICE("vulkan", "Vulkan shaders", 3, NOW),
	DEVICE("hip", "ROCm kernels", 3, NOW),
	DEVICE("hsaco", "ROCm kernels", 2, NOW),
	/* Some builds name the module after the target rather than the runtime. */
	DEVICE("rocm", "ROCm kernels", 2, 23),
	DEVICE("hexagon", "Hexagon library", 7, NOW),
	DEVICE("hex", "Hexagon library", 7, 23),
	DEVICE("webgpu", "WebGPU kernels", 12, NOW),
	DEVICE("nki", "Trainium kernels", 24, NOW),
	DEVICE("aocl", "Intel FPGA kernels", 4, 19),
	DEVICE("sdaccel", "Xilinx FPGA kernels", 4, 19),
	DEVICE("opengl", "OpenGL shaders", 2, 6),
	{ "metadata_module", "metadata", MPK_ROLE_DATA, 9, 19, &codec_empty, NULL },
};

const struct mpk_kind *mpk_kind_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++) {
		if (mpk_span_is(name, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

const struct mpk_kind *mpk_kind_at(size_t i)
{
	return i < MPK_ARRAY_COUNT(kinds) ? &kinds[i] : NULL;
}
