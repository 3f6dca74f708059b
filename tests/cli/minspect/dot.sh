# drawings for Graphviz
minspect --dot tree data/formats/07_relax_opencl.so
minspect --dot model data/formats/15_relax_cond.blob
minspect --dot model data/formats/01_opencl_scale.so || echo "status $?"
minspect --dot all data/formats/01_opencl_scale.so || echo "status $?"
minspect --json --dot tree data/formats/01_opencl_scale.so || echo "status $?"
