# Kernels whose code differs are compared by instruction: addresses, labels and numbers of registers do not count.
mkdir -p cuda/bin
# a stand-in, which prints as nvdisasm does, of two builds of one kernel and one that is the same
cat >cuda/bin/nvdisasm <<'END'
#!/bin/sh
printf '\t.target\tsm_90\n'
printf '//--------------------- .text.copy              --------------------------\n'
printf '\t.section\t.text.copy,"ax",@progbits\ncopy:\n.text.copy:\n        /*0000*/   EXIT ;\n'
printf '//--------------------- .text.sums              --------------------------\n'
printf '\t.section\t.text.sums,"ax",@progbits\n        .size           sums,(.L_x_9 - sums)\nsums:\n.text.sums:\n'
case $(wc -c <"$2") in
*[!0-9]*) exit 1 ;;
SMALL)
	printf '        /*0000*/   MOV R1, c[0x0][0x28] ;\n//## File "/src/sums.cu", line 3\n'
	printf '        /*0010*/   LDG.E R4, desc[UR4][R2.64] ;\n        /*0020*/   FADD R5, R4, R6 ;\n'
	printf '.L_x_4:\n        /*0030*/   ISETP.GE.AND P0, PT, R7, 0x40, PT ;\n        /*0040*/   @P0 BRA `(.L_x_4) ;\n'
	;;
*)
	printf '        /*0000*/   MOV R1, c[0x0][0x28] ;\n        /*0010*/   IADD3 R1, R1, -0x60, RZ ;\n'
	printf '        /*0020*/   LDG.E R9, desc[UR6][R2.64] ;\n        /*0030*/   FADD R5, R9, R6 ;\n        /*0040*/   STL [R1+0x8], R5 ;\n'
	printf '.L_x_7:\n        /*0050*/   ISETP.GE.AND P1, PT, R7, 0x20, PT ;\n        /*0060*/   @P1 BRA `(.L_x_7) ;\n'
	;;
esac
printf '        /*0080*/   EXIT ;\n.L_x_8:\n        /*0090*/   BRA `(.L_x_8);\n        /*00a0*/   NOP;\n        /*00b0*/   NOP;\n.L_x_9:\n'
END
for f in sums sums_spill sums_lines; do cp data/device/$f.sm_90.cubin $f; done
sed -i "s/^SMALL/$(wc -c <sums)/" cuda/bin/nvdisasm
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
echo "== cubins"
minspect --diff sums sums_spill || echo "status $?"
minspect --json --diff sums sums_spill | grep '"text"\|"diff"\|no_inst'
minspect --diff sums sums_lines || echo "status $?"
echo "== modules"
for f in sums sums_spill; do
	cp $f $f.cubin
	mpack init $f.cubin | sed 's/^name = .*/name = "same"/' >$f.toml
	mpack build -q $f.toml -o $f.blob
done
minspect --diff sums.blob sums_spill.blob | sed '/^  /d'
minspect --markdown --diff sums.blob sums_spill.blob | grep -A 3 '^@@'
echo "== only registers"
sed -i "s#        .\*0010.*0x60, RZ ;.n##; s#        .\*0040\*.   STL[^;]*;.n##; s#0x20#0x40#" cuda/bin/nvdisasm
minspect --diff sums sums_spill || echo "status $?"
echo "== a tool that fails"
printf '#!/bin/sh\necho "not today" >&2\nexit 1\n' >cuda/bin/nvdisasm
minspect --diff sums sums_spill || echo "status $?"
minspect --json --diff sums sums_spill | grep no_inst
minspect --markdown --diff sums sums_spill | tail -n 1
mkdir old new
for n in a b; do cp sums old/$n.cubin; cp sums_spill new/$n.cubin; done
minspect --diff old new | grep -c instructions
