#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# makes the code objects of kernels.hip, with Clang 19 alone: one bare, a bundle of several targets, the same packed
set -eu
cd "$(dirname "$0")"
build() { # TARGETS... -o FILE
	clang-19 -x hip --target=x86_64-linux-gnu --cuda-device-only -nogpulib -nogpuinc -O2 -ffp-contract=off "$@" kernels.hip
}
build --offload-arch=gfx90a:xnack+ --no-gpu-bundle-output -o kernels.hsaco
set -- --offload-arch=gfx906 --offload-arch=gfx90a:xnack+ --offload-arch=gfx90a:xnack- --offload-arch=gfx1100
build "$@" --gpu-bundle-output -o kernels.bundle
build "$@" --gpu-bundle-output --offload-compress -o kernels.packed
