# Apart and together again: the blob and, through base, the whole library.
mpack unpack data/formats/07_relax_opencl.so -o dir
(cd dir && find . -type f | LC_ALL=C sort)
cat dir/mpack.toml
mpack build dir/mpack.toml -o again.blob
cmp again.blob data/formats/07_relax_opencl.blob
mpack build dir/mpack.toml -o again.so
cmp again.so data/formats/07_relax_opencl.so
cmp dir/base.so data/formats/07_relax_opencl.so
