# Mistakes of the first hour: each message says what it is, where, and what comes next.
look() { "$@" 2>&1 || echo "status $?"; }
cp data/gpu/cuda.so x.so
gzip -k x.so
printf 'import os\nprint(1)\n' >script.py
look mpack thin x.so.gz --keep sm_90 -o y.so
look mpack thin script.py --keep sm_90 -o y.so
look mpack build script.py -o y.so
# a string without quotes, and what is none
printf '[package]\nname = kernels # all of them\n' >mpack.toml
look mpack build -o y.so
printf '[package]\nname = "a"\n[[module]]\nid = "m"\nkind = cuda.x\n' >mpack.toml
look mpack build -o y.so
printf '[package]\nname = -\n' >mpack.toml
look mpack build -o y.so
look minspect functions --filter x.so
# what is left of an archive is one
python3 -m zipfile -c w.whl x.so
look mpack thin w.whl --keep sm_90 -o t.so
test ! -e t.so
mkdir folder
look mpack thin w.whl --keep sm_90 -o folder
minspect folder/w.whl | sed -n 1,2p
# a key that is misspelt is one mistake, and not a missing key as well
cp data/example/scale.cl .
mpack init scale.cl | sed 's/^grid/gird/' >misspelt.toml
look mpack check misspelt.toml
# what to do with a packed library before it is called
gzip -c data/formats/01_opencl_scale.so >scale.so.gz
look minspect run main scale.so.gz
# the parser sees the beginning of false and of nan in these
for word in foo nccl; do
	printf '[package]\nname = %s\n' $word >word.toml
	look mpack check word.toml
done
