# what would leave a device without code, what is not there, what cannot be thinned: nothing is written
try()
{
	mpack thin "$@" -o out.so 2>&1 || echo $?
	test ! -e out.so
}
try data/gpu/cuda.so --keep sm_86
try data/gpu/cuda.so --keep sm_90 --keep sm_100
try data/gpu/hip.so --keep gfx90a,gfx1100:xnack-
try data/gpu/cuda.so --keep gfx90a
try data/gpu/cuda.so --keep sm90
try data/gpu/cuda.so --keep sm_90,
try data/gpu/cuda.so
try data/gpu/cuda-rdc.o --keep sm_91
try data/gpu/first.cu --keep sm_90
try data/formats/01_opencl_scale.so --keep sm_90
try missing.so --keep sm_90
try data/gpu/cuda.so data/gpu/hip.so --keep sm_90
mpack thin data/gpu/cuda.so --keep sm_90 2>&1 || echo $?
# an input is never replaced, and no library without --force
cp data/gpu/cuda.so lib.so
cp data/gpu/hip.so other.so
mpack thin lib.so -o lib.so --keep sm_90 2>&1 || echo $?
mpack thin lib.so -o other.so --keep sm_90 2>&1 || echo $?
cmp lib.so data/gpu/cuda.so
mpack thin lib.so -o other.so --keep sm_90 --force
# a device without code is what the user wants
mpack thin data/gpu/cuda.so -o none.so --keep sm_90,sm_70 --allow-missing 2>&1 || echo $?
