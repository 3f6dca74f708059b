# a name that is not there
minspect --run ad data/formats/14_llvm_noblob.so || echo $?
minspect --run forward data/relax/gelu.so
