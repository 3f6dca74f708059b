# a file that cannot be extracted is an object with the error
minspect --json --extract d data/formats/14_llvm_noblob.so
