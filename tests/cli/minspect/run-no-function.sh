# a name that is not there; functions of models count, too
minspect --run ad data/formats/14_llvm_noblob.so || echo $?
minspect --run defualt data/legacy/mlp_llvm.so || echo $?
minspect --run fowrard data/relax/gelu.so
