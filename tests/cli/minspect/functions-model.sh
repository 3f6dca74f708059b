# what an executor's functions take, as far as the file tells
minspect --functions data/formats/06_relax_vm.so
