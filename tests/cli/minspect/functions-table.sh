# More kernels than people read in full are a table of their templates: the same in a pipe as on a terminal.
minspect functions data/gpu/cuda.so data/gpu/hip-packed.so data/gpu/bundled.o data/device/two.sm_75.cubin
# asked for, it is one of few kernels, too
minspect functions --sort registers --top 2 data/gpu/cuda.so
minspect functions --sort name data/gpu/cuda.so data/device/sums.sm_90.cubin | tail -n 8
minspect functions --sort occupancy --top 2 data/gpu/cuda.so data/device/sums.sm_90.cubin
# what spills: by what AMD's compiler wrote down, by stores and loads of machine code, by an unknown stack
minspect functions --spills data/device/sums_spill.sm_90.cubin data/gpu/mix.gfx90a.hsaco
minspect functions --spills data/gpu/cuda.so
# nothing is left out of documents, and what sorts a table is not for them
look() { minspect "$@" 2>&1 || echo "status $?"; }
look functions --json --top 3 data/gpu/cuda.so
look functions --all --spills data/gpu/cuda.so
look functions --sort regs data/gpu/cuda.so
look functions --sort x data/gpu/cuda.so
look functions --top 0 data/gpu/cuda.so
look functions --filter nothing --top 3 data/gpu/cuda.so
# a file that is no module has an error, and no sum of no kernels
printf 'no module' >text.so
look functions --spills text.so
