# data types by the names of C and PyTorch
look() { minspect --run f data/formats/01_opencl_scale.so "$@" 2>&1 || echo "status $?"; }
look --input 4xhalf=1
look --out 4xtorch.float32
look --input dtype=double
look --input 4xint=1
look --input 4xpointer=1
look --input 4xquux=1
