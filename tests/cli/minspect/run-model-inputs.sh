# inputs that a model does not take: status 2 before anything runs, and a call that is right
lib=data/legacy/mlp_llvm.so
wrong() { minspect --run default $lib "$@" || echo $?; }
wrong --input data=2x20xf32
wrong --input data=2x20xf32 --input exra=2x12xf32
wrong --input data=2x20xf32 --input data=2x20xf32
wrong --input 2x20xf32 --input 2x12xf32 --input 5
wrong --input 2x20xf64 --input 2x12xf32
wrong --input 2x21xf32 --input 2x12xf32
wrong --input 40xf32 --input 2x12xf32
wrong --input 5 --input 2x12xf32
wrong --input 2x20xf32 --input 2x12xf32 --input p1=12xf32
# what is shown is a call that works
minspect --run default $lib 2>&1 --input data=2x20xf32 | sed 's/.*call it with //' >options
# shellcheck disable=SC2046
minspect --run default $lib $(cat options) >/dev/null
