# Nothing of the user's is mixed with or overwritten.
mkdir dir
echo mine >dir/mpack.toml
mpack unpack data/formats/01_opencl_scale.so -o dir || status=$?
cat dir/mpack.toml
ls -A
exit "$status"
