# A bare blob has no host code, and a library built from it says so.
mpack unpack data/formats/05_webgpu.blob -o dir
cat dir/mpack.toml
cat dir/1-webgpu/kernels/*.wgsl | head -n 2
mpack build dir/mpack.toml -o again.blob
cmp again.blob data/formats/05_webgpu.blob
mpack build dir/mpack.toml -o again.so
