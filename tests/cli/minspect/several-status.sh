minspect missing.so data/formats/14_llvm_noblob.so /dev/null >out
