/* SPDX-License-Identifier: Apache-2.0 */
/* A file says for which machine its code is, seldom for which processor. LLVM refuses instructions of
 * extensions that it was not told of, so all are named that compilers of libraries use. */
#include <stdio.h>

#include "disasm/internal/disassemblers.h"

static const struct row {
	uint16_t machine;
	unsigned bits; /* 0: any */
	bool big_endian, thumb;
	const char *triple, *cpu, *features;
	unsigned step;
} rows[] = {
	{ EM_X86_64, 0, false, false, "x86_64-linux-gnu", "", "", 1 },
	{ EM_386, 0, false, false, "i386-linux-gnu", "", "", 1 },
	{ EM_AARCH64, 0, false, false, "aarch64-linux-gnu", "", "+all", 4 },
	{ EM_AARCH64, 0, true, false, "aarch64_be-linux-gnu", "", "+all", 4 },
	{ EM_ARM, 0, false, false, "armv7-linux-gnueabihf", "", "+neon,+vfp4,+hwdiv-arm", 4 },
	{ EM_ARM, 0, false, true, "thumbv7-linux-gnueabihf", "", "+neon,+vfp4,+hwdiv", 2 },
	{ EM_RISCV, 64, false, false, "riscv64-linux-gnu", "",
	  "+m,+a,+f,+d,+c,+v,+zba,+zbb,+zbs,+zfh,+zicsr,+zifencei,+zicond", 2 },
	{ EM_RISCV, 32, false, false, "riscv32-linux-gnu", "",
	  "+m,+a,+f,+d,+c,+zba,+zbb,+zbs,+zicsr,+zifencei", 2 },
	{ EM_PPC64, 0, false, false, "powerpc64le-linux-gnu", "pwr10", "", 4 },
	{ EM_PPC64, 0, true, false, "powerpc64-linux-gnu", "pwr10", "", 4 },
	{ EM_PPC, 0, true, false, "powerpc-linux-gnu", "", "", 4 },
	{ EM_S390, 0, true, false, "s390x-linux-gnu", "z16", "", 2 },
	{ EM_LOONGARCH, 64, false, false, "loongarch64-linux-gnu", "", "+f,+d,+lsx,+lasx", 4 },
	{ EM_MIPS, 64, false, false, "mips64el-linux-gnu", "", "", 4 },
	{ EM_MIPS, 64, true, false, "mips64-linux-gnu", "", "", 4 },
	{ EM_MIPS, 32, false, false, "mipsel-linux-gnu", "", "", 4 },
	{ EM_MIPS, 32, true, false, "mips-linux-gnu", "", "", 4 },
	{ EM_SPARCV9, 0, true, false, "sparcv9-linux-gnu", "", "", 4 },
	{ EM_BPF, 0, false, false, "bpfel", "", "", 8 },
	{ EM_QDSP6, 0, false, false, "hexagon-unknown-elf", "", "", 4 },
};

enum mpk_code mpk_disasm_target(const struct mpk_code_file *f, bool thumb,
				struct mpk_llvm_code *out, struct mpk_error *err)
{
	if (f->machine == EM_AMDGPU) {
		out->triple = "amdgcn-amd-amdhsa";
		out->cpu = mpk_arena_printf(f->arena, "%.*s", (int)strcspn(f->amd_target, ":"),
					    f->amd_target);
		out->features = "";
		out->step = 4;
		MPK_TRY_ALLOC(out->cpu, err);
		return MPK_OK;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct row *r = &rows[i];

		if (r->machine != f->machine || (r->bits && r->bits != f->bits) ||
		    r->big_endian != f->big_endian || r->thumb != thumb)
			continue;
		out->triple = r->triple;
		out->cpu = r->cpu;
		out->features = r->features;
		out->step = r->step;
		return MPK_OK;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"minspect cannot disassemble code for machine %u of ELF, %s-endian",
			f->machine, f->big_endian ? "big" : "little");
}
