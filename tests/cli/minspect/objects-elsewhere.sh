# Mach-O, COFF, DLLs and universal files: listing, functions, checks, payloads
minspect --all data/objects/scale.x86_64.dylib data/objects/scale.dll data/objects/macho.a \
	data/objects/universal.o 'data/objects/universal.o(arm64)' data/objects/devc.i686.obj
minspect --functions data/objects/scale.dll
minspect --json data/objects/scale.x86_64.dylib | grep -E '"(container|format|machine|elf|section)"'
minspect --verify data/objects/*.o data/objects/*.obj data/objects/*.dll data/objects/*.dylib data/objects/macho.a
minspect --size data/objects/scale.dll
minspect -q --extract want data/formats/01_opencl_scale.so
for f in universal.o devc.x86_64.big.obj scale.dll; do
	minspect -q --extract "$f.dir" "data/objects/$f"
	cmp "$f.dir/1-opencl/kernels.cl" want/1-opencl/kernels.cl
done
minspect --diff data/formats/01_opencl_scale.blob data/objects/scale.dll || test $? = 1
# no code of theirs runs here, nor is it edited
for f in scale.dll scale.x86_64.dylib host.arm64.o devc.x86_64.obj; do
	minspect --run scale "data/objects/$f" 2>&1 || echo "$?"
	mpack edit "data/objects/$f" -o out --replace /0=data/launch/kernels.cl 2>&1 || echo "$?"
	test ! -e out
done
minspect 'data/objects/universal.o(arm)' 2>&1 || echo "$?"
