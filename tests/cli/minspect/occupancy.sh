# warps that a multiprocessor holds, by what the code says of its kernels
minspect occupancy data/device/sums.sm_90.cubin data/gpu/hip.so
minspect occupancy --block 256 data/device/sums_spill.sm_90.cubin
minspect occupancy --device-arch sm_86 --filter "*shared*" data/gpu/cuda.so
minspect occupancy --block 32,4 --shared 100000 data/device/shape.sm_90.cubin
minspect occupancy --shared 300000 data/device/two.sm_75.cubin
minspect occupancy --json data/device/two.sm_75.cubin | jq -c '.files[0] | .untold, (.kernels[] | [.kernel, .device, .warps, .max_warps, .limit, .next])'
# PTX alone, and a library without kernels
minspect occupancy data/device/*.ptx data/formats/14_llvm_noblob.so 2>&1 | sed 's/^[^:]*\///'
minspect occupancy --block 1025 data/gpu/cuda.so || echo "status $?"
minspect occupancy --shared many data/gpu/cuda.so || echo "status $?"
minspect occupancy --device-arch sm_999 data/gpu/cuda.so || echo "status $?"
