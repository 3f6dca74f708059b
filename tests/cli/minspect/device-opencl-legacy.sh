# the same in the legacy calling convention
f=data
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
minspect --run add "$f/formats/20_legacy_opencl.so" --input 16xf32=1 --input 16xf32=2 \
	--out 16xf32 --expect 16xf32=3
minspect --run mulsub "$f/legacy/mulsub_opencl.so" --input 5xf32=0,1,2,3,4 --out 5xf32 \
	--expect 5xf32=-2,1,4,7,10
minspect --run mulsub "$f/legacy/mulsub_opencl.so" --input 1000xf32=7 --out 1000xf32 \
	--expect 1000xf32=19 >/dev/null
status=0
minspect --run mulsub "$f/legacy/mulsub_metal.so" --input 5xf32=0 --out 5xf32 2>err || status=$?
sed 's/^.*error: //' err
echo "$status"
