# other code for one GPU in a fatbin, a bundle, and containers of libraries; Clang's bundler reads what was written
minspect --extract old data/gpu/hip.so
cp old/gpu/1-2-gfx90a-xnack+.hsaco new.hsaco
mpack edit data/gpu/first.bundle -o edited.bundle --replace 'file:0#gfx90a:xnack+=new.hsaco'
minspect --verify edited.bundle
minspect --diff data/gpu/first.bundle edited.bundle | sed -n 3,9p
for tool in clang-offload-bundler-19 clang-offload-bundler; do
	command -v $tool >/dev/null || continue
	for t in gfx90a:xnack+ gfx1100; do
		$tool --unbundle --type=o --targets=hipv4-amdgcn-amd-amdhsa--$t --input=edited.bundle --output=$t.out
	done
	cmp gfx90a:xnack+.out new.hsaco
	cmp gfx1100.out old/gpu/0-1-gfx1100.hsaco
	break
done
# in a library it must fit where it is; the rest of the file stays
for f in hip hip-packed; do
	mpack edit data/gpu/$f.so -o $f.so --replace '.hip_fatbin:0#gfx90a:xnack+=new.hsaco'
	minspect --verify $f.so
	minspect --diff data/gpu/$f.so $f.so | grep -c '^[+-~]'
done
# zeros in front of the next bundle are room, too
for grown in 100 4000; do
	{ cat old/gpu/0-2-gfx90a-xnack+.hsaco; head -c $grown /dev/zero | tr '\0' x; } >grown.hsaco
	mpack edit data/gpu/hip.so -o grown.so --force --replace '.hip_fatbin:0#gfx90a:xnack+=grown.hsaco' || echo "exit $?"
done
minspect --extract grown grown.so
test "$(wc -c <grown/gpu/0-2-gfx90a-xnack+.hsaco)" -eq "$(($(wc -c <old/gpu/0-2-gfx90a-xnack+.hsaco) + 100))"
cmp grown/gpu/1-1-gfx1100.hsaco old/gpu/1-1-gfx1100.hsaco
mpack edit data/gpu/cuda.so -o same.so --replace '.nv_fatbin:0#sm_90=data/device/sums.sm_90.cubin' || echo "exit $?"
# what an image was packed with it is packed with again
minspect --extract parts data/gpu/cuda.so
mpack edit data/gpu/cuda.so -o same.so --replace ".nv_fatbin:0#sm_90=$(ls parts/gpu/0-*sm_90.cubin)" \
	--replace ".nv_fatbin:0#sm_80=$(ls parts/gpu/0-*sm_80.cubin)"
cmp same.so data/gpu/cuda.so
# also where the toolkit packed it smaller than mpack would; with a byte changed it is packed as small as possible
mpack edit data/gpu/cuda.so -o same.so --replace ".nv_fatbin:1#sm_90=$(ls parts/gpu/1-*sm_90.cubin)" --force
cmp same.so data/gpu/cuda.so
python3 -c "import sys; d = bytearray(open(sys.argv[1], 'rb').read()); d[d.index(b'\\x4d\\x79') + 9] ^= 1; open('other.cubin', 'wb').write(d)" \
	parts/gpu/1-*sm_80.cubin
mpack edit data/gpu/cuda.so -o other.so --replace .nv_fatbin:1#sm_80=other.cubin
minspect --verify other.so
minspect --extract others other.so
cmp others/gpu/1-*sm_80.cubin other.cubin
cmp others/gpu/1-*sm_90.cubin parts/gpu/1-*sm_90.cubin
cp data/device/tiny.size.fatbin packed.fatbin
mpack edit packed.fatbin -o packed.fatbin --replace file:0#sm_90=data/device/two.sm_90.cubin --replace file:0#compute_90=data/device/two.ptx
minspect packed.fatbin | sed -n 1,4p
minspect --extract again packed.fatbin
cmp again/gpu/0-2-sm_90.cubin data/device/two.sm_90.cubin
cmp again/gpu/0-1-compute_90.ptx data/device/two.ptx
refuse()
{
	mpack edit "$@" -o no.out || echo "exit $?, $(ls no.out 2>/dev/null | wc -l)"
}
refuse data/gpu/hip.so --replace '.hip_fatbin:7#gfx1100=old/gpu/0-1-gfx1100.hsaco'
refuse data/gpu/hip.so --replace '.hip_fatbin:0#gfx906=data/gpu/mix.gfx906.hsaco'
refuse data/gpu/hip.so --replace '.hip_fatbin:0#gfx1100=new.hsaco'
refuse data/gpu/hip.so --replace '.hip_fatbin:0#gfx1100=data/device/kernel.spv'
refuse data/device/two.sm_90.cubin --replace 'file:0#sm_90=data/device/sums.sm_90.cubin'
refuse data/formats/01_opencl_scale.so --replace '.nv_fatbin:0#sm_90=data/device/sums.sm_90.cubin' --replace /0=data/example/scale.cl
refuse data/gpu/offload.o --replace '.llvm.offloading:0#sm_90=data/device/sums.sm_90.cubin'
