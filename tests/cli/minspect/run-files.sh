# files that cannot be read as arrays
lib=data/formats/14_llvm_noblob.so
minspect --run add $lib --input @missing.npy || echo $?
minspect --run add $lib --input @data/npy/fortran.npy || echo $?
head -c 20 data/npy/float32.npy >cut.npy
minspect --run add $lib --input @cut.npy || echo $?
minspect --run add missing.so || echo $?
minspect --run nothing data/npy/make.py || echo $?
