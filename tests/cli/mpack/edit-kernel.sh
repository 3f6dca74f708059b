# Kinds that keep each kernel by itself take one at a time; the others stay.
cat >new.wgsl <<'END'
@compute @workgroup_size(1) fn add_kernel() { }
END
mpack edit data/formats/05_webgpu.blob -o new.blob --replace '/0#add_kernel=new.wgsl'
mpack unpack new.blob -o dir
cmp dir/1-webgpu/kernels/add_kernel.wgsl new.wgsl
mpack unpack data/formats/05_webgpu.blob -o old
mpack edit new.blob -o new.blob --replace '/0#add_kernel=old/1-webgpu/kernels/add_kernel.wgsl'
cmp new.blob data/formats/05_webgpu.blob
