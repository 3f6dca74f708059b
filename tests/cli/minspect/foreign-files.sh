# files that hold no module are named for what they are, with what to do: sources, arrays, models
look() { minspect "$@" 2>&1 || echo "status $?"; }
printf '{"a": 1}' >a.json
printf '{"nodes": [], "arg_nodes": []}' >graph.json
printf 'GGUF\3\0\0\0' >m.gguf
printf '\10\0\0\0\0\0\0\0{"a":{}} ' >m.safetensors
printf '\10\10\22\7pytorch\32\3001.0:xxxxxxx' >m.onnx
printf '\34\0\0\0TFL3\0\0\0\0' >m.tflite
printf '\211HDF\r\n\32\n\0\0\0\0' >m.h5
printf '__kernel void f(__global float *x) { x[0] = 1; }\n' >k.cl
python3 -c '
import zipfile
with zipfile.ZipFile("p.whl", "w") as z:
    z.writestr("p/lib.so", "x")
    z.writestr("p-1.dist-info/METADATA", "x")
with zipfile.ZipFile("m.pt", "w") as z:
    z.writestr("m/data.pkl", "x")
with zipfile.ZipFile("x.zip", "w") as z:
    z.writestr("a", "x")'
for f in data/npy/int8.npy data/npy/one.npz data/launch/opencl.toml data/formats/09_params.bin data/launch/kernels.cu *.*; do
	look "$f"
done
look --verify m.gguf
look --run f data/device/two.ptx
