minspect --extract out data/formats/14_llvm_noblob.so
