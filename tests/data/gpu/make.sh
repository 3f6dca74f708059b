#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the files of this folder anew: needs nvcc of CUDA 13 and the LLVM 19 of Debian 12 (clang-19, lld-19, llvm-19).
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

arch='-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]'
# shellcheck disable=SC2086 # words
{
	nvcc $arch --compress-mode=none -Xcompiler -fPIC -c first.cu -o "$tmp/first.o"
	nvcc $arch --compress-mode=size -DSECOND -Xcompiler -fPIC -c first.cu -o "$tmp/second.o"
	nvcc -arch=sm_90 -rdc=true --compress-mode=none -Xcompiler -fPIC -c first.cu -o cuda-rdc.o
}
# no CUDA runtime: these are looked at, not loaded
gcc -shared -nostdlib -Wl,--build-id=none -s -o cuda.so "$tmp/first.o" "$tmp/second.o"
objcopy --strip-unneeded cuda-rdc.o

hip='-x hip --offload-arch=gfx90a:xnack+ --offload-arch=gfx1100 -nogpulib -nogpuinc -O2 -fPIC'
for mode in '' --offload-compress; do
	for name in first second; do
		# shellcheck disable=SC2086
		clang-19 $hip $mode -c $name.hip -o "$tmp/$name.o"
	done
	test "$mode" || objcopy -O binary --only-section=.hip_fatbin "$tmp/first.o" first.bundle
	gcc -shared -nostdlib -Wl,--build-id=none -s -o "hip${mode:+-packed}.so" "$tmp/first.o" "$tmp/second.o"
done
# shellcheck disable=SC2086
clang-19 $hip --offload-new-driver -fgpu-rdc -c second.hip -o offload.o

for target in gfx90a:4 gfx906:5 gfx11-generic:6; do
	clang-19 -target amdgcn-amd-amdhsa -mcpu="${target%:*}" -mcode-object-version="${target#*:}" -nogpulib -O2 \
		-x cl -cl-std=CL2.0 -cl-kernel-arg-info spill.cl -o "mix.${target%:*}.hsaco"
done
clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx906 -mcode-object-version=5 -nogpulib -O2 -x cl -cl-std=CL2.0 \
	-cl-kernel-arg-info -Xclang -finclude-default-header params.cl -o params.gfx906.hsaco
for target in gfx803 gfx942 gfx1030 gfx1100 gfx1201; do
	clang-19 -target amdgcn-amd-amdhsa -mcpu="$target" -mcode-object-version=5 -nogpulib -O2 -gline-tables-only \
		-fdebug-compilation-dir=. -x cl -cl-std=CL2.0 lines.cl -o "lines.$target.hsaco"
done
printf 'int host;\n' >"$tmp/host.c"
gcc -c "$tmp/host.c" -o "$tmp/host.o"
clang-offload-bundler-19 -type=o -targets=host-x86_64-unknown-linux-gnu,openmp-amdgcn-amd-amdhsa--gfx90a \
	-input="$tmp/host.o" -input=mix.gfx90a.hsaco -output=bundled.o
ar rcD "$tmp/gen.ar" params.gfx906.hsaco
printf 'f: ret\n' | as -o "$tmp/cpu.o" -
as -I"$tmp" -I. -o "$tmp/sycl.o" sycl.s
gcc -shared -nostdlib -Wl,--build-id=none -s -o sycl.so "$tmp/sycl.o"

# one kernel for two targets, one for the older of them
openmp='-O2 -fPIC -fopenmp -nogpulib'
# shellcheck disable=SC2086
{
	clang-19 $openmp --offload-arch=gfx906,gfx90a -DFIRST -c openmp.c -o "$tmp/first.o"
	clang-19 $openmp --offload-arch=gfx906 -DSECOND -c openmp.c -o "$tmp/second.o"
	clang-19 $openmp --offload-arch=gfx906,gfx90a -c openmp.c -o "$tmp/runtime.o"
	clang-19 $openmp --offload-arch=gfx906,gfx90a -shared -nostdlib -Wl,--build-id=none -s -o openmp.so \
		"$tmp/first.o" "$tmp/second.o" "$tmp/runtime.o"
}
chmod 644 ./*.so ./*.hsaco
