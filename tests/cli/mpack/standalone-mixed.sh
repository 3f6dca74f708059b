# one library that brings its loader has functions on CUDA, on OpenCL and in C, each of which looks for its own driver alone
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the stand-in for CUDA's driver is not built"; exit 77; }
call() { LD_LIBRARY_PATH="$fakes" minspect --run "$@" 2>&1 | sed 's/^minspect: [^:]*: //'; }
answers()
{
	call saxpy_cuda $1 --input f32=2 --input 3xf32=2 --out 3xf32=1
	call saxpy_opencl $1 --input f32=3 --input 3xf32=2 --out 3xf32=1
	call halve $1 --input 3xf32=5 --out 3xf32
	# a tensor that is on no device of the function's kind
	call saxpy_opencl $1 --input f32=3 --input 3xf64=2 --out 3xf32=1
}
for abi in ffi ffi-0.21 legacy; do
	mpack build data/launch/standalone_mixed.toml --abi $abi -o linked.so --save-temps linked
	mpack build data/launch/standalone_mixed.toml --abi $abi -o compiled.so --cflag -O1
	mpack build data/launch/standalone_mixed.toml --abi $abi -o via-c.so --via c
	test -e linked/cuda.o -a -e linked/opencl.o
	rm -r linked
	for f in linked compiled via-c; do
		answers $f.so >$f.said
		cmp $f.said linked.said
	done
done
cat linked.said
minspect verify linked.so
# without a driver the functions of C go on
minspect run halve linked.so --input 3xf32=5 --out 3xf32
# source for a compiler is refused, with the command that makes what can be packed
sed 's/kernels.ptx/kernels.cu/; s/kind = "cuda"/kind = "cuda"\nformat = "cuda"/' data/launch/standalone_mixed.toml >source.toml
cp data/launch/kernels.cl data/launch/halve.c .
echo 'extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) { }' >kernels.cu
mpack build source.toml -o source.so 2>&1 || test $? = 4
test ! -e source.so
