# what an executor's functions take, as far as the file tells
minspect --functions data/formats/06_relax_vm.so
minspect --functions data/formats/23_legacy_graph.so data/formats/24_legacy_aot.so | grep -A 3 '^/: '
