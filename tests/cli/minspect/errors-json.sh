# one file of three is sound: the document has all three, the status is the first failure's
minspect --json missing.so data/formats/14_llvm_noblob.so /dev/null | sed -n '/"error"/,/}/p'
