/* SPDX-License-Identifier: Apache-2.0 */
/* formats/amdgpu and formats/msgpack: what clang was told, and what llvm-readelf --notes prints of it,
 * against what is read; instructions of every encoding as LLVM 19 disassembles them, those of gfx950
 * as LLVM 21 assembles them */
#include "robust.h"

#include "amdgpu/amdgpu.h"
#include "assert_error.h"
#include "base/compiler.h"
#include "dwarf/dwarf.h"
#include "msgpack/msgpack.h"
#include "work/work.h"

#define DATA "tests/data/gpu/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_amdgpu open_object(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_amdgpu a;

	ck_assert_msg(mpk_amdgpu_read(robust_load(&arena, path), &arena, &a, &err) == MPK_OK, "%s",
		      err.text);
	return a;
}

/* --- code objects ------------------------------------------------------------------------ */

/* The figures of `llvm-readelf-19 --notes`. */
static const struct {
	const char *path, *target;
	unsigned version;
	uint32_t sgprs, vgprs, vgpr_spills, wavefront;
	uint64_t kernarg_bytes, scratch_bytes;
	size_t args;
} objects[] = {
	{ DATA "mix.gfx90a.hsaco", "gfx90a", 4, 36, 48, 20, 64, 48, 84, 5 },
	{ DATA "mix.gfx906.hsaco", "gfx906", 5, 36, 24, 48, 64, 48, 196, 5 },
	{ DATA "mix.gfx11-generic.hsaco", "gfx11-generic", 6, 29, 24, 48, 32, 48, 196, 5 },
};

START_TEST(figures)
{
	struct mpk_amdgpu a = open_object(objects[_i].path);
	const struct mpk_amdgpu_kernel *k = a.kernels;

	ck_assert_str_eq(a.target, objects[_i].target);
	ck_assert_uint_eq(a.version, objects[_i].version);
	ck_assert(a.has_metadata);
	ck_assert_uint_eq(a.kernel_count, 1);
	ck_assert(mpk_span_is(k->name, "mix"));
	ck_assert(mpk_span_is(k->symbol, "mix.kd"));
	ck_assert_uint_eq(k->sgprs, objects[_i].sgprs);
	ck_assert_uint_eq(k->vgprs, objects[_i].vgprs);
	ck_assert_uint_eq(k->vgpr_spills, objects[_i].vgpr_spills);
	ck_assert_uint_eq(k->wavefront, objects[_i].wavefront);
	ck_assert_uint_eq(k->kernarg_bytes, objects[_i].kernarg_bytes);
	ck_assert_uint_eq(k->scratch_bytes, objects[_i].scratch_bytes);
	ck_assert_uint_eq(k->visible_args, objects[_i].args);
	ck_assert_uint_eq(k->max_threads, 64);
	ck_assert_uint_eq(k->block[0], 64);
	ck_assert_uint_eq(k->block[1], 1);
	ck_assert_uint_gt(k->code.len, 1000);
}
END_TEST

START_TEST(arguments)
{
	static const struct mpk_span none;
	struct mpk_amdgpu a = open_object(DATA "mix.gfx906.hsaco");
	const struct mpk_amdgpu_arg *args = a.kernels[0].args;

	ck_assert_uint_ge(a.kernels[0].arg_count, 5);
	ck_assert(mpk_span_is(args[0].name, "out"));
	ck_assert(mpk_span_is(args[0].type_name, "float*"));
	ck_assert(mpk_span_is(args[0].value_kind, "global_buffer"));
	ck_assert(mpk_span_is(args[0].address_space, "global"));
	ck_assert(mpk_span_is(args[3].value_kind, "dynamic_shared_pointer"));
	ck_assert(mpk_span_is(args[4].name, "n"));
	ck_assert_uint_eq(args[4].bytes, 16);
	ck_assert_uint_eq(args[4].offset, 32);
	ck_assert(mpk_span_equal(args[4].address_space, none));
}
END_TEST

static enum mpk_code try_object(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_amdgpu a;
	enum mpk_code code = mpk_amdgpu_read(bytes, &scratch, &a, err);

	mpk_arena_fini(&scratch);
	return code;
}

/* --- instructions -------------------------------------------------------------------------- */

enum counted { NOTHING, PADDING, LOAD, STORE, ATOMIC, TENSOR, ASYNC };

static const struct {
	const char *target, *hex;
	enum counted what;
	unsigned space, width;
} instructions[] = {
	{ "gfx803", "9c2bdab2", NOTHING, 0, 0 },         /* s_cmpk_ge_i32 */
	{ "gfx803", "ff62a59202020000", NOTHING, 0, 0 }, /* s_bfe_u32 */
	{ "gfx803", "8c04e7be", NOTHING, 0, 0 },         /* s_not_b32 */
	{ "gfx803", "0c51f602", NOTHING, 0, 0 },         /* v_add_f32_e32 */
	{ "gfx803", "faf6bc2401000004", NOTHING, 0, 0 }, /* v_lshlrev_b32_dpp */
	{ "gfx803", "0281847c", NOTHING, 0, 0 },         /* v_cmp_eq_f32_e32 */
	{ "gfx803", "ffea9c7c00000843", NOTHING, 0, 0 }, /* v_cmp_nlt_f32_e32 */
	{ "gfx803", "650398c002000000", NOTHING, 0, 0 }, /* s_atc_probe */
	{ "gfx803", "f9f61ed199404000", NOTHING, 0, 0 }, /* v_subbrev_u32_e64 */
	{ "gfx803", "5208d9d4", NOTHING, 0, 0 },         /* v_interp_p2_f32_e32 */
	{ "gfx803", "0230d9d802021949", ATOMIC, 0, 0 },  /* ds_mskor_rtn_b64 */
	{ "gfx803", "2b5d1dd8ff101100", STORE, MPK_SPACE_SHARED, MPK_WIDTH_8B }, /* ds_write2_b32 */
	{ "gfx803", "900494df00000000", ATOMIC, 0, 0 }, /* flat_atomic_umin_x2 */
	{ "gfx803", "080570de00000000", STORE, MPK_SPACE_GENERIC,
	  MPK_WIDTH_4B }, /* flat_store_dword */
	{ "gfx803", "542378e000800081", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_12B },                              /* buffer_store_dwordx3 */
	{ "gfx803", "43a68ae1d7610113", ATOMIC, 0, 0 }, /* buffer_atomic_add_x2 */
	{ "gfx803", "01044eeb00800002", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_2B }, /* tbuffer_store_format_d16_x */
	{ "gfx803", "36a34deafa08402a", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_8B },                                /* tbuffer_load_format_d16_xyzw */
	{ "gfx803", "0020e7f2fa000800", NOTHING, 0, 0 }, /* image_sample_c_cl_o */
	{ "gfx900", "108512bf", NOTHING, 0, 0 },         /* s_cmp_eq_u64 */
	{ "gfx900", "80a180bf", NOTHING, 0, 0 },         /* s_nop */
	{ "gfx900", "064022c10d000000", ATOMIC, 0, 0 },  /* s_buffer_atomic_and */
	{ "gfx900", "1447b2d802000008", LOAD, MPK_SPACE_SHARED,
	  MPK_WIDTH_1B },                                /* ds_read_i8_d16_hi */
	{ "gfx900", "0b3a7ed802400001", NOTHING, 0, 0 }, /* ds_bpermute_b32 */
	{ "gfx900", "cf938dde00002000", LOAD, MPK_SPACE_GLOBAL,
	  MPK_WIDTH_1B }, /* global_load_sbyte_d16_hi */
	{ "gfx900", "9b230ce0c48a0400", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_16B },                              /* buffer_load_format_xyzw */
	{ "gfx90a", "9bff53e001000000", ASYNC, 0, 0 },  /* buffer_load_dword */
	{ "gfx908", "962bc2d300000004", TENSOR, 0, 0 }, /* v_mfma_f32_4x4x1f32 */
	{ "gfx942", "444698de00002000", ASYNC, 0, 0 },  /* scratch_load_lds_ubyte */
	{ "gfx950", "0000d4d300010204", TENSOR, 0, 0 }, /* v_mfma_f32_16x16x32_f16 */
	{ "gfx950", "0000acd3142b02000008add300010204", TENSOR, 0,
	  0 },                                          /* v_mfma_scale_f32_16x16x128_f8f6f4 */
	{ "gfx950", "0000bad300012204", TENSOR, 0, 0 }, /* v_smfmac_f32_16x16x64_bf16 */
	{ "gfx950", "0080f8dd00007f00", ASYNC, 0, 0 },  /* global_load_lds_dwordx3 */
	{ "gfx950", "00105de000000080", ASYNC, 0, 0 },  /* buffer_load_dwordx4 lds */
	{ "gfx950", "0000c4d902000000", LOAD, MPK_SPACE_SHARED,
	  MPK_WIDTH_OTHER },                              /* ds_read_b64_tr_b8 */
	{ "gfx950", "00409bd301050e1c", NOTHING, 0, 0 },  /* v_pk_minimum3_f16 */
	{ "gfx1010", "00da00b6", NOTHING, 0, 0 },         /* s_cmpk_ge_u32 */
	{ "gfx1010", "ffca6a93fa120062", NOTHING, 0, 0 }, /* s_mul_i32 */
	{ "gfx1010", "612c95be", NOTHING, 0, 0 },         /* s_quadmask_b32 */
	{ "gfx1010", "520012bf", NOTHING, 0, 0 },         /* s_cmp_eq_u64 */
	{ "gfx1010", "65c386bf", NOTHING, 0, 0 },         /* s_cbranch_vccz */
	{ "gfx1010", "5c098b67", NOTHING, 0, 0 },         /* v_sub_f16_e32 */
	{ "gfx1010", "1060657000850000", NOTHING, 0, 0 }, /* v_fmaak_f16 */
	{ "gfx1010", "04a03e7f", NOTHING, 0, 0 },         /* v_cvt_f16_u16_e32 */
	{ "gfx1010", "ffe6fb7ddc622015", NOTHING, 0, 0 }, /* v_cmpx_neq_f16_e32 */
	{ "gfx1010", "c060f1c8", NOTHING, 0, 0 },         /* v_interp_p2_f32_e32 */
	{ "gfx1010", "d4160ecc80008000", NOTHING, 0, 0 }, /* v_pk_fma_f16 */
	{ "gfx1010", "2a3858d784081200", NOTHING, 0, 0 }, /* v_med3_i16 */
	{ "gfx1010", "e7f580d900000001", ATOMIC, 0, 0 },  /* ds_add_rtn_u64 */
	{ "gfx1010", "052386da02000000", STORE, MPK_SPACE_SHARED,
	  MPK_WIDTH_2B }, /* ds_write_b16_d16_hi */
	{ "gfx1010", "2653dcd800000031", LOAD, MPK_SPACE_SHARED, MPK_WIDTH_8B }, /* ds_read2_b32 */
	{ "gfx1010", "a59182dd18420a00", ATOMIC, 0, 0 }, /* global_atomic_fmax_x2 */
	{ "gfx1010", "159f6fdc00040000", STORE, MPK_SPACE_GLOBAL,
	  MPK_WIDTH_2B }, /* global_store_short_d16_hi */
	{ "gfx1010", "475834dc00000000", LOAD, MPK_SPACE_SCRATCH,
	  MPK_WIDTH_8B }, /* scratch_load_dwordx2 */
	{ "gfx1010", "2aaa94e010208280", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_2B },                                /* buffer_load_short_d16_hi */
	{ "gfx1010", "010068e100000800", ATOMIC, 0, 0 }, /* buffer_atomic_or_x2 */
	{ "gfx1010", "002010e002018002", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_4B }, /* buffer_store_format_x */
	{ "gfx1010", "ede502ea07000f87", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_12B }, /* tbuffer_load_format_xyz */
	{ "gfx1010", "2eb07eeae9000081", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_12B },                                        /* tbuffer_store_format_xyz */
	{ "gfx1010", "b293adf20008200041c30000", NOTHING, 0, 0 }, /* image_sample_c_d_cl */
	{ "gfx1010", "000205f300000800", NOTHING, 0, 0 },         /* image_gather4_cl */
	{ "gfx1010", "00004bf2e9420000", ATOMIC, 0, 0 },          /* image_atomic_sub */
	{ "gfx1010", "c11200f400000000", NOTHING, 0, 0 },         /* s_load_dword */
	{ "gfx1010", "410030f600200600", ATOMIC, 0, 0 },          /* s_atomic_dec */
	{ "gfx1030", "1a02d6d810000000", NOTHING, 0, 0 },         /* ds_swizzle_b32 */
	{ "gfx1100", "c7bd18b0", NOTHING, 0, 0 },                 /* s_movk_i32 */
	{ "gfx1100", "ffbc3080325f5eaf", NOTHING, 0, 0 },         /* s_add_u32 */
	{ "gfx1100", "0808a8be", NOTHING, 0, 0 },                 /* s_ctz_i32_b32 */
	{ "gfx1100", "ff44c4beff800000", NOTHING, 0, 0 },         /* s_movrelsd_2_b32 */
	{ "gfx1100", "36000fbf", NOTHING, 0, 0 },                 /* s_bitcmp1_b64 */
	{ "gfx1100", "2605bbbf", NOTHING, 0, 0 },                 /* s_ttracedata_imm */
	{ "gfx1100", "009fea36", NOTHING, 0, 0 },                 /* v_and_b32_e32 */
	{ "gfx1100", "ff161206fa80c09a", NOTHING, 0, 0 },         /* v_add_f32_e32 */
	{ "gfx1100", "be27aa7c", NOTHING, 0, 0 },                 /* v_cmp_ne_i64_e32 */
	{ "gfx1100", "ea52957d00000880", NOTHING, 0, 0 },         /* v_cmpx_eq_u32 */
	{ "gfx1100", "008487c848c6a5c440869109", NOTHING, 0, 0 }, /* v_dual_fmamk_f32 */
	{ "gfx1100", "9f0b15cbcd214b2f", NOTHING, 0, 0 },         /* v_dual_dot2acc_f32_f16 */
	{ "gfx1100", "6ea119ccffa8ba570198216d", NOTHING, 0, 0 }, /* v_dot8_u32_u4 */
	{ "gfx1100", "b13202ce", NOTHING, 0, 0 },                 /* lds_param_load */
	{ "gfx1100", "9da221cc00101042", NOTHING, 0, 0 },         /* v_fma_mixlo_f16 */
	{ "gfx1100", "540a20d586a42600", NOTHING, 0, 0 },         /* v_add_co_ci_u32_e64 */
	{ "gfx1100", "0812c4d809ddf046", ATOMIC, 0, 0 },          /* ds_cmpstore_rtn_f32 */
	{ "gfx1100", "a84d34d820000000", STORE, MPK_SPACE_SHARED, MPK_WIDTH_4B }, /* ds_store_b32 */
	{ "gfx1100", "2f639cda00000000", LOAD, MPK_SPACE_SHARED,
	  MPK_WIDTH_2B }, /* ds_load_u16_d16_hi */
	{ "gfx1100", "6b4d6adc02002000", STORE, MPK_SPACE_GLOBAL,
	  MPK_WIDTH_4B }, /* global_store_b32 */
	{ "gfx1100", "14905ddc00001040", LOAD, MPK_SPACE_SCRATCH,
	  MPK_WIDTH_16B },                               /* scratch_load_b128 */
	{ "gfx1100", "7d8e1add00020000", ATOMIC, 0, 0 }, /* global_atomic_min_u64 */
	{ "gfx1100", "0420f0e0081d8c11", ATOMIC, 0, 0 }, /* buffer_atomic_and_b32 */
	{ "gfx1100", "301064e000a11848", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_2B }, /* buffer_store_b16 */
	{ "gfx1100", "2108b4e9cfdf95cf", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_2B }, /* tbuffer_load_d16_format_x */
	{ "gfx1100", "0e92fae94fd2c410", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_8B },                                         /* tbuffer_store_format_xy */
	{ "gfx1100", "817f29f10020004041610810", NOTHING, 0, 0 }, /* image_sample_c_d_cl_o */
	{ "gfx1100", "102000f000000000", NOTHING, 0, 0 },         /* image_load */
	{ "gfx1100", "004040cc0001021c", TENSOR, 0, 0 },          /* v_wmma_f32_16x16x16_f16 */
	{ "gfx1100", "010506c8040b0200", NOTHING, 0, 0 },         /* v_dual_fmac_f32 */
	{ "gfx1100", "000013d60105fe03db0f4940", NOTHING, 0, 0 }, /* v_fma_f32 */
	{ "gfx1100", "000003d5fa04020001e400ff", NOTHING, 0, 0 }, /* v_add_f32_e64_dpp */
	{ "gfx1100", "e902007e0188c6fa", NOTHING, 0, 0 },         /* v_mov_b32_dpp */
	{ "gfx1100", "00009fbf", PADDING, 0, 0 },                 /* s_code_end */
	{ "gfx1151", "044672d800000000", NOTHING, 0, 0 },         /* ds_gws_sema_p */
	{ "gfx1151", "4d3d28e07747af02", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_8B },                                         /* buffer_load_d16_format_xyz */
	{ "gfx1200", "0080deaa", NOTHING, 0, 0 },                 /* s_mul_u64 */
	{ "gfx1200", "2ebe3ea3fa004040", NOTHING, 0, 0 },         /* s_fmamk_f32 */
	{ "gfx1200", "0208f3be", NOTHING, 0, 0 },                 /* s_ctz_i32_b32 */
	{ "gfx1200", "80b508bf", NOTHING, 0, 0 },                 /* s_cmp_gt_u32 */
	{ "gfx1200", "ffafb5bf", NOTHING, 0, 0 },                 /* s_setprio */
	{ "gfx1200", "3d0b8233", NOTHING, 0, 0 },                 /* v_lshrrev_b32_e32 */
	{ "gfx1200", "eaba356440200000", NOTHING, 0, 0 },         /* v_add_f16_dpp */
	{ "gfx1200", "0011ba7d", NOTHING, 0, 0 },                 /* v_cmpx_ne_u64_e32 */
	{ "gfx1200", "ff10f87f13a98130", NOTHING, 0, 0 },         /* v_cvt_i32_f32_e32 */
	{ "gfx1200", "041083c97200004b019c80e4", NOTHING, 0, 0 }, /* v_dual_subrev_f32 */
	{ "gfx1200", "4209d2c800178004", NOTHING, 0, 0 },         /* v_dual_mul_f32 */
	{ "gfx1200", "c8de0ace", NOTHING, 0, 0 },                 /* ds_param_load */
	{ "gfx1200", "299e20cc10ede657", NOTHING, 0, 0 },         /* v_fma_mix_f32 */
	{ "gfx1200", "02204ed6ff8054e449802944", NOTHING, 0, 0 }, /* v_max3_u16 */
	{ "gfx1200", "4a0007d700000000", NOTHING, 0, 0 },         /* v_cvt_pk_u16_f32 */
	{ "gfx1200", "1c19b0d808c64400", ATOMIC, 0, 0 },          /* ds_mskor_rtn_b32 */
	{ "gfx1200", "407b38d8fa400000", STORE, MPK_SPACE_SHARED,
	  MPK_WIDTH_8B },                                         /* ds_store_2addr_b32 */
	{ "gfx1200", "9e1accda01700001", NOTHING, 0, 0 },         /* ds_bpermute_b32 */
	{ "gfx1200", "508052e70001060243800189", NOTHING, 0, 0 }, /* image_sample_c_d_cl_o */
	{ "gfx1200", "540181f400020000", NOTHING, 0, 0 },         /* s_load_i8 */
	{ "gfx1200", "7cc005ee0000000004000000", LOAD, MPK_SPACE_GLOBAL,
	  MPK_WIDTH_16B }, /* global_load_b128 */
	{ "gfx1200", "7c0007ee0000000004000000", STORE, MPK_SPACE_GLOBAL,
	  MPK_WIDTH_12B }, /* global_store_b96 */
	{ "gfx1200", "7c0004ec0000000002000000", LOAD, MPK_SPACE_GENERIC,
	  MPK_WIDTH_1B }, /* flat_load_u8 */
	{ "gfx1200", "7cc006ed0000000000000000", STORE, MPK_SPACE_SCRATCH,
	  MPK_WIDTH_8B }, /* scratch_store_b64 */
	{ "gfx1200", "7c0005c40000804001000000", LOAD, MPK_SPACE_BUFFER,
	  MPK_WIDTH_4B }, /* buffer_load_b32 */
	{ "gfx1200", "7c4006c40000804001000000", STORE, MPK_SPACE_BUFFER,
	  MPK_WIDTH_2B },                                        /* buffer_store_b16 */
	{ "gfx1200", "7c8015ee0000000002000000", ATOMIC, 0, 0 }, /* global_atomic_add_f32 */
	{ "gfx1200", "004040cc0009021c", TENSOR, 0, 0 },         /* v_wmma_f32_16x16x16_f16 */
	{ "gfx1200", "0000f8db03000000", LOAD, MPK_SPACE_SHARED, MPK_WIDTH_12B }, /* ds_load_b96 */
};

static struct mpk_span bytes_of(const char *hex, uint8_t out[32])
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
	return mpk_span_of(out, n);
}

/* Each by itself is one instruction of its kind, and is cut off without its last 4 bytes. */
START_TEST(every_encoding)
{
	enum counted what = instructions[_i].what;
	const char *target = instructions[_i].target;
	struct mpk_work wanted = { .is_amd = true, .all = what != PADDING }, work;
	unsigned space = instructions[_i].space, width = instructions[_i].width;
	uint8_t bytes[32];
	struct mpk_span code = bytes_of(instructions[_i].hex, bytes);

	wanted.loads[space][width] = what == LOAD;
	wanted.stores[space][width] = what == STORE;
	wanted.atomic = what == ATOMIC;
	wanted.tensor = what == TENSOR;
	wanted.async = what == ASYNC;
	ck_assert_msg(mpk_amdgpu_count_instructions(target, code, &work), "%s %s", target,
		      instructions[_i].hex);
	ck_assert_mem_eq(&work, &wanted, sizeof work);
	code.len -= 4;
	if (code.len)
		ck_assert(!mpk_amdgpu_count_instructions(target, code, &work));
}
END_TEST

/* Processors by family, generic ones and those with features included; nothing is said of others. */
START_TEST(families)
{
	static const struct {
		const char *target, *hex;
		bool known;
	} rows[] = {
		{ "gfx90a:sramecc+:xnack-", "000050dc00007f00", true },
		{ "gfx9-4-generic", "000050dc00007f00", true },
		{ "gfx10-3-generic", "000030dc00007d00", true },
		{ "gfx11-generic", "000052dc00007c00", true },
		{ "gfx12-generic", "7c0005ee0000000000000000", true },
		{ "gfx12-5-generic", "7c0005ee0000000000000000", false },
		{ "gfx1250", "7c0005ee0000000000000000", false },
		{ "gfx700", "000050dc00007f00", false },
		{ "gfx9", "000050dc00007f00", false },
		{ "processor 0x99", "000050dc00007f00", false },
		{ "gfx90a", "000050dc00007f", false },   /* no multiple of 4 */
		{ "gfx90a", "000000fc00000000", false }, /* no encoding */
		{ "gfx90a", "", true },
	};
	struct mpk_work work;
	uint8_t bytes[32];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_amdgpu_count_instructions(rows[i].target,
							    bytes_of(rows[i].hex, bytes),
							    &work) == rows[i].known,
			      "%s %s", rows[i].target, rows[i].hex);
}
END_TEST

/* Rows lie in the file, in order, and cover the kernel but for what belongs to no line; without debug information there are none. */
START_TEST(lines)
{
	struct mpk_span bytes = robust_load(&arena, DATA "lines.gfx1201.hsaco");
	const struct mpk_dwarf_row *rows;
	struct mpk_error err = { 0 };
	struct mpk_amdgpu a;
	uint64_t covered = 0, from;
	size_t count;

	ck_assert_ok(mpk_amdgpu_read(bytes, &arena, &a, &err), err);
	ck_assert_ok(mpk_amdgpu_lines(bytes, &arena, &rows, &count, &err), err);
	from = (uint64_t)(a.kernels->code.data - bytes.data);
	ck_assert_uint_gt(count, 10);
	ck_assert_uint_eq(rows[0].from, from);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(rows[i].from, rows[i].to);
		ck_assert(!i || rows[i - 1].to <= rows[i].from);
		ck_assert_uint_le(rows[i].to, bytes.len);
		ck_assert_msg(strstr(rows[i].file, "lines.cl") != NULL, "%s", rows[i].file);
		covered += rows[i].to - rows[i].from;
	}
	ck_assert_uint_ge(covered + 16, a.kernels->code.len);
	bytes = robust_load(&arena, DATA "mix.gfx90a.hsaco");
	ck_assert_ok(mpk_amdgpu_lines(bytes, &arena, &rows, &count, &err), err);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(survives_damage)
{
	robust_check(objects[_i].path, try_object, 20000);
}
END_TEST

/* Damage in the metadata alone: most of the file is code. */
START_TEST(survives_damaged_metadata)
{
	struct mpk_span good = robust_load(&arena, DATA "mix.gfx90a.hsaco");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	const uint8_t *note;
	size_t at;

	ck_assert_ptr_nonnull(bytes);
	note = memmem(bytes, good.len, "AMDGPU", 7);
	ck_assert_ptr_nonnull(note);
	at = (size_t)(note - bytes);
	robust_flip(try_object, bytes, good.len, at - 12, at + 700);
}
END_TEST

START_TEST(refuses_other_files)
{
	struct mpk_span cubin = robust_load(&arena, "tests/data/device/two.sm_75.cubin");
	struct mpk_span good = robust_load(&arena, DATA "mix.gfx90a.hsaco");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	struct mpk_error err;
	struct mpk_amdgpu a;
	uint8_t *key;

	ck_assert_int_eq(mpk_amdgpu_read(cubin, &arena, &a, &err), MPK_E_CORRUPT);
	bytes[5] = 2; /* big-endian */
	ck_assert_int_eq(mpk_amdgpu_read(mpk_span_of(bytes, good.len), &arena, &a, &err),
			 MPK_E_UNSUPPORTED);
	bytes[5] = 1;
	key = memmem(bytes, good.len, ".sgpr_count", 11);
	ck_assert_ptr_nonnull(key);
	key[11] = 0xa1; /* a string where a number is needed */
	ck_assert_int_eq(mpk_amdgpu_read(mpk_span_of(bytes, good.len), &arena, &a, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "code object: metadata: .sgpr_count");
}
END_TEST

/* --- MessagePack: examples of its specification -------------------------------------------- */

static const struct {
	const char *bytes;
	size_t len;
	enum mpk_msgpack_type type;
	uint64_t number;
	uint32_t count;
	size_t text;
} values[] = {
	{ "\x7f", 1, MPK_MSGPACK_UINT, 127, 0, 0 },
	{ "\xe0", 1, MPK_MSGPACK_INT, (uint64_t)-32, 0, 0 },
	{ "\xff", 1, MPK_MSGPACK_INT, (uint64_t)-1, 0, 0 },
	{ "\xc0", 1, MPK_MSGPACK_NIL, 0, 0, 0 },
	{ "\xc3", 1, MPK_MSGPACK_BOOL, 1, 0, 0 },
	{ "\xcc\x80", 2, MPK_MSGPACK_UINT, 128, 0, 0 },
	{ "\xcd\x12\x34", 3, MPK_MSGPACK_UINT, 0x1234, 0, 0 },
	{ "\xce\x12\x34\x56\x78", 5, MPK_MSGPACK_UINT, 0x12345678, 0, 0 },
	{ "\xcf\x80\0\0\0\0\0\0\1", 9, MPK_MSGPACK_UINT, UINT64_C(1) << 63 | 1, 0, 0 },
	{ "\xd0\x80", 2, MPK_MSGPACK_INT, (uint64_t)-128, 0, 0 },
	{ "\xd0\x7f", 2, MPK_MSGPACK_UINT, 127, 0, 0 },
	{ "\xd1\x80\0", 3, MPK_MSGPACK_INT, (uint64_t)-32768, 0, 0 },
	{ "\xd3\x80\0\0\0\0\0\0\0", 9, MPK_MSGPACK_INT, UINT64_C(1) << 63, 0, 0 },
	{ "\xcb\x3f\xf0\0\0\0\0\0\0", 9, MPK_MSGPACK_FLOAT, UINT64_C(0x3ff0) << 48, 0, 0 },
	{ "\xa3"
	  "abc",
	  4, MPK_MSGPACK_STR, 0, 0, 3 },
	{ "\xd9\2ab", 4, MPK_MSGPACK_STR, 0, 0, 2 },
	{ "\xc4\1a", 3, MPK_MSGPACK_BIN, 0, 0, 1 },
	{ "\xd4\1a", 3, MPK_MSGPACK_EXT, 0, 0, 2 },
	{ "\xc7\2\1ab", 5, MPK_MSGPACK_EXT, 0, 0, 3 },
	{ "\x92\1\2", 3, MPK_MSGPACK_ARRAY, 0, 2, 0 },
	{ "\xdc\0\1\1", 4, MPK_MSGPACK_ARRAY, 0, 1, 0 },
	{ "\x81\1\2", 3, MPK_MSGPACK_MAP, 0, 1, 0 },
	{ "\xdf\0\0\0\1\1\2", 7, MPK_MSGPACK_MAP, 0, 1, 0 },
};

START_TEST(msgpack_values)
{
	struct mpk_span s = mpk_span_of(values[_i].bytes, values[_i].len);
	struct mpk_cursor c = mpk_cursor_of(s, 0, "payload"), all = c;
	struct mpk_msgpack m;

	ck_assert_int_eq(mpk_msgpack_next(&c, &m, NULL), MPK_OK);
	ck_assert_int_eq(m.type, values[_i].type);
	ck_assert_uint_eq(m.number, values[_i].number);
	ck_assert_uint_eq(m.count, values[_i].count);
	ck_assert_uint_eq(m.bytes.len, values[_i].text);
	ck_assert_int_eq(mpk_msgpack_skip(&all, NULL), MPK_OK);
	ck_assert_uint_eq(mpk_cursor_left(&all), 0);
	for (size_t n = 0; n < s.len; n++) {
		all = mpk_cursor_of(mpk_span_of(s.data, n), 0, "payload");
		ck_assert_int_eq(mpk_msgpack_skip(&all, NULL), MPK_E_CORRUPT);
	}
}
END_TEST

START_TEST(msgpack_refuses)
{
	static const char *const bad[] = { "\xc1", "\xdd\xff\xff\xff\xff\1", "\xdf\xff\xff\xff\xff",
					   "\xdb\xff\xff\xff\xff", "\x82\1\1\1" };
	static uint8_t deep[1 << 20];
	struct mpk_cursor c;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bad); i++) {
		c = mpk_cursor_of(mpk_span_str(bad[i]), 0, "payload");
		ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_E_CORRUPT);
	}
	/* a million arrays, one in the other */
	memset(deep, 0x91, sizeof deep);
	deep[sizeof deep - 1] = 1;
	c = mpk_cursor_of(mpk_span_of(deep, sizeof deep), 0, "payload");
	ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_OK);
	deep[sizeof deep - 1] = 0x91;
	c = mpk_cursor_of(mpk_span_of(deep, sizeof deep), 0, "payload");
	ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_E_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("amdgpu");
	TCase *tc = tcase_create("amdgpu");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, figures, 0, (int)MPK_ARRAY_COUNT(objects));
	tcase_add_test(tc, arguments);
	tcase_add_loop_test(tc, every_encoding, 0, (int)MPK_ARRAY_COUNT(instructions));
	tcase_add_test(tc, families);
	tcase_add_test(tc, lines);
	tcase_add_loop_test(tc, survives_damage, 0, (int)MPK_ARRAY_COUNT(objects));
	tcase_add_test(tc, survives_damaged_metadata);
	tcase_add_test(tc, refuses_other_files);
	tcase_add_loop_test(tc, msgpack_values, 0, (int)MPK_ARRAY_COUNT(values));
	tcase_add_test(tc, msgpack_refuses);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
