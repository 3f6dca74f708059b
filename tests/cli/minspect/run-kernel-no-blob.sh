# a library without a blob has no kernels, and says so before anything is called
minspect --run k --grid 1 data/formats/14_llvm_noblob.so || echo $?
printf '[[case]]\nrun = "k"\ngrid = [1]\n' >c.toml
minspect -q --cases c.toml data/formats/14_llvm_noblob.so || echo $?
