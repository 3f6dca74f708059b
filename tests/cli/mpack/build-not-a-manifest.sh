# a library in the manifest's place is told as one
mpack build data/formats/14_llvm_noblob.so -o x.so
