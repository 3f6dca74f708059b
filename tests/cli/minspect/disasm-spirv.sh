# SPIR-V as spirv-dis prints it: the whole module of one kernel, one function of several.
command -v spirv-dis >/dev/null || { echo "spirv-dis is not installed"; exit 77; }
for file in compute buffers; do
	cp data/device/$file.spv .
	mpack init $file.spv | sed '/^\[\[function/,$d' >$file.toml
	mpack build $file.toml -o $file.blob
done
spirv-dis --no-color --no-header compute.spv >all
minspect --disasm=/#by_id compute.blob >by_id
head -n 1 by_id
sed 1d by_id | head -n 1
tail -n 1 by_id
sed 1d by_id | while IFS= read -r line; do grep -Fxq -- "$line" all || echo "not of spirv-dis: $line"; done
minspect --disasm=/ buffers.blob | sed 1d | head -n 3
minspect --disasm=/#bi_id compute.blob || echo "status $?"
# without it
mkdir bin
ln -s "$(command -v minspect)" bin/minspect
PATH=$PWD/bin minspect --disasm=/#by_id compute.blob || echo "status $?"
