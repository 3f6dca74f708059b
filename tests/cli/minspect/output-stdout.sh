# a result saved to standard output is all that goes there
minspect --run add data/formats/14_llvm_noblob.so --input 16xf32=1 --input 16xf32=2 --out 16xf32 --output @- |
	wc -c
