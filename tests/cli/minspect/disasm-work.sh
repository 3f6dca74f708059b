# What the instructions of each source line do, and how they are scheduled, is read from the code itself: a stand-in for
# nvdisasm prints the places of instructions alone.
mkdir -p cuda/bin
cat >cuda/bin/nvdisasm <<'END'
#!/bin/sh
printf '\t.target\tsm_90\n//--------------------- .text.copy                --------------------------\n'
printf '\t//## File "/tmp/one/sums.cu", line 17\n'
for at in 0000 0010 0050 00a0 0180 fffffffffff0; do
	printf '        /*%s*/                   LDG.E R1, desc[UR4][R2.64] ;\n' $at
done
printf '        /*0060*/              @!P0 BRA `(.L_x_1) ;\n.L_x_1:\n        /*00zz*/   no address\n        /*0070\n'
printf '//--------------------- .text.sums                --------------------------\n        /*0000*/ X ;\n'
printf '//--------------------- .text.none                --------------------------\n        /*0000*/ X ;\n'
END
chmod +x cuda/bin/nvdisasm
folder=$(dirname "$(command -v minspect)")
export CUDA_HOME="$PWD/cuda" PATH="$folder:/usr/bin:/bin"
minspect disasm data/device/sums_lines.sm_90.cubin
# PTX says its lines itself; of one that is inlined the line in that function counts
cat >k.ptx <<'END'
.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .f32 %f<5>;
	.loc 1 10 0
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	.loc 1 11 0
	ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
	.loc 2 7 3, function_name $L_s, inlined_at 1 11 9
	fma.rn.f32 %f1, %f2, %f3, %f4;
	st.global.f32 [%rd2], %f1;
	.loc 1 12 0
	red.global.add.f32 [%rd2+4], %f1;
	ret;
}
	.file 1 "/src/k.cu"
	.file 2 "/src/inline.h"
END
minspect disasm k k.ptx | sed '/entry/,$d'
sed 's/fma.rn.f32.*/& add.f32 %f1, %f1, %f2;/; s/st.global.f32/st.local.f32/; s/f1;$/f1; st.local.v2.f32 [%rd2], {%f1, %f2};/' k.ptx >new.ptx
minspect diff k.ptx new.ptx | sed '/^  @@/,/^[~(]/d' || echo "status $?"
minspect diff --json k.ptx new.ptx | jq -c '.files[0].differences[] | .source_lines[]? | [.file, .line, .before.all, .after.all]'
# one kernel; all of its lines
minspect disasm -v sums data/device/sums_lines.sm_90.cubin | grep -c '^//.*sums.cu:'
# without a table of lines, and of an architecture whose instructions are not known here
minspect disasm data/device/sums.sm_90.cubin | grep '^// '
minspect disasm data/device/two.sm_52.cuda12.cubin | grep '^// ' || echo "nothing is counted"
minspect disasm --json copy data/device/sums_lines.sm_90.cubin |
	jq -c '.files[0].listings[0].kernels[0] | .instructions, .lines[], .listing[]'
