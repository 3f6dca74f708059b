# files of weights, which safetensors, gguf and TVM wrote: listed, verified, compared, given to a model
w=data/weights
for f in small.safetensors types.safetensors model.safetensors.index.json small.gguf small.npz cache/tensor-cache.json cache-bf16/tensor-cache.json; do
	minspect $w/$f
	minspect --verify $w/$f
done
minspect -v --filter a $w/small.gguf
minspect -v data/formats/09_params.bin
minspect -v --json $w/cache-bf16/tensor-cache.json

# the same tensors in another format; others
minspect --diff $w/small.safetensors $w/model.safetensors.index.json
minspect --diff $w/small.safetensors $w/cache/tensor-cache.json
minspect --diff $w/small.safetensors $w/small.gguf || echo $?
minspect --diff $w/cache-bf16/tensor-cache-b16.json $w/cache-bf16/tensor-cache.json 2>&1 || echo $?
minspect --diff $w/small.gguf data/formats/06_relax_vm.so 2>&1 || echo $?
minspect --diff data/formats/06_relax_vm.so $w/small.gguf 2>&1 || echo $?

minspect --diff $w/small.npz $w/small.safetensors
# arrays that are not as their checksums; compressed ones, and no archive of arrays
sed 's/\x00\x00\x80\x3e/\x00\x00\x80\x3d/' $w/small.npz >flipped.npz
minspect --verify flipped.npz || echo $?
minspect data/npy/packed.npz 2>&1 || echo $?

# damaged shards and places
cp -r $w/cache broken
chmod -R u+w broken
printf '\377\377\377\377' | dd of=broken/params_shard_0.bin bs=1 seek=4 conv=notrunc 2>/dev/null
minspect --verify broken/tensor-cache.json || echo $?
rm broken/params_shard_0.bin
minspect broken/tensor-cache.json
minspect --verify broken/tensor-cache.json || echo $?
sed 's/"model-00001/"..\/model-00001/' $w/model.safetensors.index.json >index.json
minspect --verify index.json || echo $?
cp $w/small.safetensors long.safetensors
echo >>long.safetensors
minspect --verify long.safetensors || echo $?
# what is no listing says what it is
minspect --size $w/small.gguf 2>&1 || echo $?
minspect --run main $w/small.gguf 2>&1 || echo $?

# to a model
cat >make.py <<'PY'
import json, struct
def safetensors(path, **tensors):
    head, data = {}, b""
    for name, values in tensors.items():
        at = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [at, len(data)]}
    head = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)
safetensors("x.safetensors", x=[1, 2, 3, 4], y=[0])
safetensors("numbered.safetensors", param_0=[1, 2, 3, 5])
safetensors("three.safetensors", x=[1, 2, 3], y=[0])
safetensors("other.safetensors", y=[0], z=[0])
json.dump({"weight_map": {"x": "x.safetensors", "y": "x.safetensors"}}, open("x.safetensors.index.json", "w"))
json.dump({"records": [{"dataPath": "x.bin", "records": [
    {"name": "x", "shape": [4], "dtype": "float32", "format": "f32-to-bf16", "nbytes": 8, "byteOffset": 0}]}]},
    open("ndarray-cache.json", "w"))
open("x.bin", "wb").write(b"".join(struct.pack("<f", v)[2:] for v in (1, 2, 3, 7)))
PY
python3 make.py
for f in x.safetensors x.safetensors.index.json numbered.safetensors ndarray-cache.json; do
	minspect --run main data/formats/06_relax_vm.so --params $f
done
minspect --run main data/formats/06_relax_vm.so --params three.safetensors 2>&1 || echo $?
minspect --run main data/formats/06_relax_vm.so --params other.safetensors 2>&1 || echo $?

# many tensors that differ: some of each kind, then how many more; --all has every one
cat >many.py <<'PY'
import json, struct, sys
def save(path, names, value):
    head = json.dumps({n: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, n in enumerate(names)}).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<f", value) * len(names))
both = [f"both.{i:02}" for i in range(20)]
save("a.safetensors", [f"a.{i:02}" for i in range(30)] + both, 1)
save("b.safetensors", both + [f"b.{i:02}" for i in range(19)], 2)
PY
python3 many.py
minspect --diff a.safetensors b.safetensors || echo $?
minspect --diff a.safetensors --all b.safetensors | grep -c '^[-+~] '
