# names of C++ as they were written; the symbols with -v, in JSON, in tables for programs, and where a name is used
minspect functions data/gpu/cuda.so | grep -v '^    '
minspect functions -v data/gpu/cuda.so | grep '^  [^ ]'
minspect functions --json data/gpu/cuda.so | grep -c '_Z13shared_kernelIfEvPT_PKS0_i'
minspect size data/gpu/cuda.so | grep shared_kernel
minspect size -v data/gpu/cuda.so | grep shared_kernel
minspect size --csv data/gpu/cuda.so | grep -c _Z13shared_kernelIfEvPT_PKS0_i
minspect functions --filter _Z13 data/gpu/cuda.so | grep '^  [^ ]'
# a kernel is found by the name that is shown, too
minspect disasm _Z13shared_kernelIfEvPT_PKS0_i data/gpu/cuda.so >symbol 2>&1 || :
for name in 'shared_kernel<float>' 'shared_kernel<float>(float*, float const*, int)'; do
	minspect disasm "$name" data/gpu/cuda.so 2>&1 | cmp - symbol
	minspect --disasm="$name" data/gpu/cuda.so 2>&1 | cmp - symbol
done
minspect disasm 'shared_kernel<double>' data/gpu/cuda.so 2>&1 || echo "status $?"
minspect disasm add 'missing.a(devc.o)' 2>&1 || echo "status $?"
command -v c++filt >/dev/null || { echo "c++filt is not installed"; exit 77; }
minspect functions -v data/gpu/cuda.so | c++filt | grep '^  [^ ]' | sed 's/^  void /  /' >theirs
minspect functions data/gpu/cuda.so | grep '^  [^ ]' >ours
cmp ours theirs
