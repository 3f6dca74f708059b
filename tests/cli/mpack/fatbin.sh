# a fatbin of cubins and PTX, byte for byte what nvcc makes of them; what is no such code is refused
d=data/device
minspect --extract parts $d/tiny.none.fatbin
mpack build parts/gpu/0-0-sm_80.cubin parts/gpu/0-1-compute_90.ptx parts/gpu/0-2-sm_90.cubin -o tiny.fatbin
cmp tiny.fatbin $d/tiny.none.fatbin
# of another release, for one architecture alone, of a family; a fatbin gives all of its images
mpack build $d/two.sm_52.cuda12.cubin $d/two.sm_90a.cuda12.cubin $d/tiny.sm_100.cubin tiny.fatbin -o all.fatbin
minspect all.fatbin | sed -n '/^file/,/^  [a-z]/p'
minspect --verify all.fatbin
minspect --check --only device --own-code --device-arch sm_52,sm_80,sm_90,sm_100,compute_90 all.fatbin | grep -c 'nothing found'
refuse()
{
	mpack build "$@" -o no.fatbin || echo "exit $?, $(ls no.fatbin 2>/dev/null | wc -l)"
}
refuse tiny.fatbin $d/two.sm_90.cubin
refuse $d/calls_rdc.sm_80.cubin
refuse $d/kernel.spv
refuse data/gpu/mix.gfx90a.hsaco
refuse --abi ffi $d/two.sm_90.cubin
refuse
refuse missing.cubin
mpack build $d/two.sm_90.cubin -o tiny.fatbin --force --fsync
