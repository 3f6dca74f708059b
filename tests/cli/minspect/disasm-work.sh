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
export CUDA_HOME="$PWD/cuda" PATH="$(dirname "$(command -v minspect)"):/usr/bin:/bin"
minspect disasm data/device/sums_lines.sm_90.cubin
# one kernel; all of its lines
minspect disasm -v sums data/device/sums_lines.sm_90.cubin | grep -c '^//.*sums.cu:'
# without a table of lines, and of an architecture whose instructions are not known here
minspect disasm data/device/sums.sm_90.cubin | grep '^// '
minspect disasm data/device/two.sm_52.cuda12.cubin | grep '^// ' || echo "nothing is counted"
minspect disasm --json copy data/device/sums_lines.sm_90.cubin |
	jq -c '.files[0].listings[0].kernels[0] | .instructions, .lines[], .listing[]'
