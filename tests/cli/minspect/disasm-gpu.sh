# GPU code of any library, and modules for AMD's GPUs, kernel by kernel; bundles and fatbins are unpacked.
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
show() # FN FILE
{
	echo "--- $*"
	minspect --disasm="$1" "$2" >out || echo "status $?"
	grep -v '^ *[0-9a-f]*:' out || true
}
heads() { grep '^[^ ]*: [a-z]* [a-z]' || true; }

# all of a library without host functions; a kernel, wherever it is; an image; a container
minspect disasm --all data/gpu/hip-packed.so | heads
show scale data/gpu/hip-packed.so
show '.hip_fatbin:0#flip' data/gpu/hip.so
show '.hip_fatbin:1#gfx90a' data/gpu/hip.so
show '#gfx1100' data/gpu/hip-packed.so
show .hip_fatbin:1 data/gpu/hip-packed.so
show mix data/gpu/bundled.o
# a function of the host whose name is the kernel's handle in its data
show __device_stub__scale data/gpu/hip.so | head -n 2
minspect --disasm scale data/gpu/hip.so | heads
minspect --disasm --json '.hip_fatbin:1#scale' data/gpu/hip-packed.so |
	jq -c '.files[0].listings[] | [.path, .name, .format, .target, .bytes, .instructions[0].text]'

# a cubin goes to nvdisasm unpacked: a stand-in, which tells how long it is
mkdir -p cuda/bin
cat >cuda/bin/nvdisasm <<'TOOL'
#!/bin/sh
printf '//--------------------- .text.second --------------------------\n%s B\n' "$(wc -c <"$2")"
printf '//--------------------- .text._Z13shared_kernelIfEvPT_PKS0_i --------------------------\nother\n'
TOOL
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
minspect --disasm=second data/gpu/cuda.so | sed '/^\.reg/,$d'
minspect disasm --all data/gpu/cuda.so | heads
minspect --disasm='__nv_relfatbin:0#sm_90' data/gpu/cuda-rdc.o | head -n 3
minspect --disasm='.nv_fatbin:1#compute_90' data/gpu/cuda.so | heads

# instructions are those of llvm-objdump, whatever the GPU and the version of the code object
rows() { sed -nE 's/^\t(.*[^ ]) *\/\/ 0*([0-9A-F]+):.*/\2: \1/p' | tr "[:upper:]" "[:lower:]"; }
plain() { sed -nE 's/^ *([0-9a-f]+):\t(.*)/\1: \2/p' | sed 's/ <.*//' | tr "[:upper:]" "[:lower:]"; }
compare() # LISTING KERNEL CODE-OBJECT
{
	llvm-objdump-19 -d --print-imm-hex --disassemble-symbols="$2" "$3" | rows >objdump
	plain <"$1" >ours
	test -s ours && head -n "$(wc -l <ours)" objdump | cmp - ours && head -n 2 "$1"
}
echo 'int f(void) { return 1; }' | cc -c -x c -o host.o -
for target in gfx906 gfx11-generic; do
	objcopy --add-section __CLANG_OFFLOAD_BUNDLE__openmp-amdgcn-amd-amdhsa--$target=data/gpu/mix.$target.hsaco host.o x.o
	minspect disasm --all x.o >all
	compare all mix data/gpu/mix.$target.hsaco
done

# modules: a code object, a bundle
pack() # KIND FORMAT FILE KERNEL ARGS
{
	printf '[package]\nname = "m"\n[[module]]\nid = "m"\nkind = "%s"\nformat = "%s"\ndata = "%s"\n' "$1" "$2" "$3" >m.toml
	printf '[[module.function]]\nname = "%s"\nargs = [%s]\nlaunch = ["blockIdx.x"]\n' "$4" "$5" >>m.toml
	mpack build -q m.toml -o m.blob
}
for target in gfx90a gfx1100; do
	minspect --show ".hip_fatbin:1#$target" --output $target.hsaco data/gpu/hip-packed.so
	for kind in hip rocm hsaco; do
		pack $kind hsaco $target.hsaco scale '"handle", "float32"'
		minspect disasm --all m.blob >all
		minspect --disasm scale m.blob | cmp - all
		compare all scale $target.hsaco
	done
done
pack hip hip data/gpu/first.bundle flip '"handle"'
minspect disasm --all m.blob | heads
show '/#gfx90a' m.blob
show /#flip m.blob
minspect --show /#flip m.blob || echo "status $?"

# what is not there, and what no disassembler is known for
show flop data/gpu/hip-packed.so
show '.hip_fatbin:0#scale' data/gpu/hip-packed.so
show .hip_fatbin:2 data/gpu/hip-packed.so
show /0 data/gpu/hip.so
minspect --disasm data/gpu/offload.o || echo "status $?"
python3 - <<'PY'
data = bytearray(open("data/gpu/hip-packed.so", "rb").read())
data[data.index(b"CCOB") + 200] ^= 0xff
open("broken.so", "wb").write(data)
PY
# one that is broken: the others are listed
minspect --disasm broken.so >out || echo "status $?"
heads <out
