# A library without a blob is told so, and leaves no folder behind.
mpack unpack data/formats/14_llvm_noblob.so -o dir || status=$?
test ! -e dir
exit "$status"
