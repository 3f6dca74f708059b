# inputs, outputs and expectations of a library that TVM exported; results go to files and come back
lib=data/formats/14_llvm_noblob.so
minspect --run add $lib --input 16xf32=rand --input 16xf32=0.5 --out 16xf32 --output sum.npy
minspect --run add $lib --input @sum.npy --input 16xf32=-0.5 --out 16xf32 --expect 16xf32=rand --output 0=@back.npy
minspect --run main $lib --input @back.npy --input 16xfloat32=@sum.npy --out 16xf32 --expect ignored
