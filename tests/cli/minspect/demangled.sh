# names of C++ as they were written; the symbols with -v, in JSON, in tables for programs, and where a name is used
minspect functions data/gpu/cuda.so | grep -v '^    '
minspect functions -v data/gpu/cuda.so | grep '^  [^ ]'
minspect functions --json data/gpu/cuda.so | grep -c '_Z13shared_kernelIfEvPT_PKS0_i'
minspect size data/gpu/cuda.so | grep shared_kernel
minspect size -v data/gpu/cuda.so | grep shared_kernel
minspect size --csv data/gpu/cuda.so | grep -c _Z13shared_kernelIfEvPT_PKS0_i
minspect functions --filter _Z13 data/gpu/cuda.so | grep '^  [^ ]'
command -v c++filt >/dev/null || { echo "c++filt is not installed"; exit 77; }
minspect functions -v data/gpu/cuda.so | c++filt | grep '^  [^ ]' | sed 's/^  void /  /' >theirs
minspect functions data/gpu/cuda.so | grep '^  [^ ]' >ours
cmp ours theirs
