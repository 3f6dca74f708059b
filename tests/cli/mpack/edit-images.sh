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
mpack edit data/gpu/cuda.so -o same.so --replace '.nv_fatbin:0#sm_90=data/device/sums.sm_90.cubin' || echo "exit $?"
# what an image was packed with it is packed with again
minspect --extract parts data/gpu/cuda.so
mpack edit data/gpu/cuda.so -o same.so --replace ".nv_fatbin:0#sm_90=$(ls parts/gpu/0-*sm_90.cubin)" \
	--replace ".nv_fatbin:0#sm_80=$(ls parts/gpu/0-*sm_80.cubin)"
cmp same.so data/gpu/cuda.so
cp data/device/tiny.size.fatbin packed.fatbin
mpack edit packed.fatbin -o packed.fatbin --replace file:0#sm_90=data/device/two.sm_90.cubin --replace file:0#compute_90=data/device/two.ptx
minspect packed.fatbin | sed -n 1,4p
minspect --extract again packed.fatbin
cmp again/gpu/0-2-sm_90.cubin data/device/two.sm_90.cubin
cmp again/gpu/0-1-sm_90.ptx data/device/two.ptx
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
