# a folder as the output: the file keeps its name in it
cp data/gpu/cuda.so .
mkdir there
mpack thin cuda.so -o there --keep sm_90
mpack thin cuda.so -o one.so --keep sm_90
cmp there/cuda.so one.so
mpack thin data/gpu/hip.so -o there/ --keep gfx1100
ls there
# the same rules as for a name: not the input, nor what mpack did not write; a link to a folder is one
mpack thin cuda.so -o . --keep sm_90 || echo "status $?"
mpack thin cuda.so -o ./ --keep sm_90 --force || echo "status $?"
cp data/gpu/hip.so there/cuda.so
mpack thin cuda.so -o there --keep sm_90 || echo "status $?"
mpack thin cuda.so -o there --keep sm_90 --force
cmp there/cuda.so one.so
ln -s there link
mpack thin cuda.so -o link --keep sm_80 --force
cmp there/cuda.so one.so || echo "another one"
mpack thin cuda.so -o nowhere/ --keep sm_90 || echo "status $?"
cmp data/gpu/cuda.so cuda.so
