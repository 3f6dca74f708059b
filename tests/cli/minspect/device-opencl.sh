# functions with OpenCL kernels run, their tensors copied to the device and back
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
minspect --run scale data/formats/01_opencl_scale.so --input 5xf32=1,2,3,4,5 --out 5xf32 \
	--input f32=2.5 --expect 5xf32=2.5,5,7.5,10,12.5
minspect --run scale data/formats/01_opencl_scale.so --input 0xf32= --out 0xf32 --input f32=2
# a host part in C
minspect --run add data/formats/13_chost_opencl.so --input 16xf32=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 \
	--input 16xf32=0.5 --out 16xf32 --device opencl:0
minspect --run vadd data/cuda/vadd_opencl.so --input 1024xf32=rand:1 --input 1024xf32=0 \
	--out 1024xf32 --expect 1024xf32=rand:1 --output sum.npy >/dev/null
# what is read and written is an output that holds something before
minspect --run saxpy data/cuda/saxpy_opencl.so --input f32=2.5 --input 7xf32=1,2,3,4,5,6,7 \
	--out 7xf32=1 --expect 7xf32=3.5,6,8.5,11,13.5,16,18.5
minspect --run saxpy data/cuda/saxpy_opencl.so --input f32=1 --input 100000xf32=rand:4 \
	--out 100000xf32=0 --expect 100000xf32=rand:4 >/dev/null
