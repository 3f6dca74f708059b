# sections of one device each: they leave an object with their names, as Clang's bundler sees; what is loaded stays
for tool in clang-offload-bundler-19 eu-elflint objcopy; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
prefix=__CLANG_OFFLOAD_BUNDLE__
cat >host.c <<'END'
static int count;
int *pointer = &count;
int step(void) { return ++count; }
END
cc -c host.c -o host.o
clang-offload-bundler-19 --type=o --targets=host-x86_64-unknown-linux-gnu-,openmp-amdgcn-amd-amdhsa--gfx906,openmp-amdgcn-amd-amdhsa--gfx90a \
	--input=host.o --input=data/gpu/mix.gfx906.hsaco --input=data/gpu/mix.gfx90a.hsaco --output=fat.o
for id in sycl-spir64-unknown-unknown sycl-spir64_gen sycl-nvptx64-nvidia-cuda-sm_80 sycl-nvptx64-nvidia-cuda; do
	objcopy --add-section $prefix$id=data/device/kernel.spv --set-section-flags $prefix$id=exclude,readonly fat.o
done
bundled() { clang-offload-bundler-19 --list --type=o --input="$1" | grep -v '^host-'; }
bundled fat.o
for keep in gfx906 spir64 spir64_gen,gfx90a nvptx64 sm_80; do
	echo "--- $keep"
	mpack thin fat.o -o thin.o --keep $keep --force -v
	bundled thin.o
	minspect --verify thin.o
	eu-elflint --gnu-ld -q thin.o
	cc -shared thin.o -o thin.so
	test "$(wc -c <thin.o)" -lt "$(wc -c <fat.o)"
done
mpack thin -q fat.o -o thin.o --keep gfx90a --force
clang-offload-bundler-19 --unbundle --type=o --targets=openmp-amdgcn-amd-amdhsa--gfx90a --input=thin.o --output=image
cmp image data/gpu/mix.gfx90a.hsaco
echo "--- devices"
mpack thin -q fat.o -o thin.o --device-arch gfx906 --force
bundled thin.o
mpack thin fat.o -o thin.o --keep gfx1100 --force || echo "status $?"
# a descriptor leads to each image of what is loaded
cat >wrap.s <<END
.section ${prefix}sycl-spir64, "a"
spir: .incbin "data/device/kernel.spv"
spir_end:
.section ${prefix}sycl-spir64_gen, "a"
gen: .incbin "data/gpu/mix.gfx906.hsaco"
gen_end:
.data
.globl descriptors
descriptors: .quad spir, spir_end, gen, gen_end
.section .note.GNU-stack, "", @progbits
END
cc -c wrap.s -o wrap.o
cc -shared -nostdlib wrap.o -o wrap.so
for file in wrap.o wrap.so; do
	echo "--- $file"
	mpack thin $file -o same --keep spir64_gen --force
	cmp $file same
done
