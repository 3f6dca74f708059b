# A large blob through C for a machine whose assembler fills sections up; and the same through LLVM.
command -v s390x-linux-gnu-gcc >/dev/null || { echo "s390x-linux-gnu-gcc is not installed"; exit 77; }
mpack unpack data/formats/01_opencl_scale.blob -o dir
cd dir || exit
{ head -c 3000000 /dev/zero | tr '\0' ' '; } >>1-opencl/kernels.cl
mpack build -o by.blob
for way in c llvm; do
	mpack build --target s390x-linux-gnu --cc s390x-linux-gnu-gcc --via $way -o $way.o
	mpack build --target s390x-linux-gnu --cc s390x-linux-gnu-gcc --via $way -o $way.so 2>/dev/null
	for file in $way.o $way.so; do
		minspect --verify $file
		minspect --extract out-$file $file >/dev/null
		cmp out-$file/1-opencl/kernels.cl 1-opencl/kernels.cl
	done
done
