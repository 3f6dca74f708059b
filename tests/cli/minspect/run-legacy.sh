# libraries of TVM 0.18: LLVM and C host, entry by its alias
lib=data/legacy
minspect --run mulsub "$lib/mulsub_llvm.so" --input 4xf32=1,2,3,4 --out 4xf32 --expect 4xf32=1,4,7,10
minspect --run main "$lib/mulsub_c.so" --input 3xf32=0,-1,0.5 --out 3xf32 --expect 3xf32=-2,-5,-0.5
minspect --run __tvm_main__ "$lib/mulsub_llvm.so" --input 1xf32=2 --out 1xf32
