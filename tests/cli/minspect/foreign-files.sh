# files that hold no module are named for what they are, with what to do: sources, arrays, models
look() { minspect "$@" 2>&1 || echo "status $?"; }
printf '{"a": 1}' >a.json
printf '{"nodes": [], "arg_nodes": []}' >graph.json
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >pointer.so
printf 'GGUF\3\0\0\0' >m.gguf
printf '\10\0\0\0\0\0\0\0{"a":{}} ' >m.safetensors
printf '\10\10\22\7pytorch\32\3001.0:xxxxxxx' >m.onnx
# they begin like one: what follows is no field of it, or a text that ends beyond the file
printf '\10\10\60\7pytorch\32\3001.0:xxxxxxx' >other.bin
printf '\10\10\22\177pytorch\32\3001.0:xxxxxxx' >cut.bin
printf '\34\0\0\0TFL3\0\0\0\0' >m.tflite
printf '\34\0\0\0ET12eh00' >m.pte
# as coremltools and iree-compile 3.13 write them
printf '\10\5\22 \n\16\n\1x\32\11*\7\n\1\3\20\240\200\4R\16\n\1y' >m.mlmodel
printf '\10\1\22\20\n\16*\5serve2\5x.y.z' >saved_model.pb
printf 'T\22\0\0\10\0\0\0IREE\334\355\377\377' >flat.vmfb
printf '<?xml version="1.0"?>\n<net name="m" version="11">\n' >openvino.xml
printf 'ML\357R\r' >m.mlirbc
printf 'ftrt\0\0\0\0%16s\12\3\0\32' '' >m.plan
printf 'ftrt\1\0\0\0%16s\12\3\0\32' '' >later.plan
printf 'ptrt\0\0\0\0' >older.plan
printf '\211HDF\r\n\32\n\0\0\0\0' >m.h5
printf '__kernel void f(__global float *x) { x[0] = 1; }\n' >k.cl
python3 -c '
import zipfile
with zipfile.ZipFile("p.whl", "w") as z:
    z.writestr("p/lib.so", "x")
    z.writestr("p-1.dist-info/METADATA", "x")
with zipfile.ZipFile("m.pt", "w") as z:
    z.writestr("m/data.pkl", "x")
with zipfile.ZipFile("zip.vmfb", "w") as z:
    z.writestr("module.fb", "x")
with zipfile.ZipFile("x.zip", "w") as z:
    z.writestr("a", "x")'
for f in data/npy/int8.npy data/npy/one.npz data/launch/opencl.toml data/formats/09_params.bin data/launch/kernels.cu *.*; do
	look "$f"
done
look --verify m.gguf
look --run f data/device/two.ptx
