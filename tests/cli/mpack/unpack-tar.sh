# The objects that TVM exported stay what they are, beside the one with the blob, which is made anew.
mpack unpack data/formats/12_syslib_prefix.tar -o dir
(cd dir && find . -type f | LC_ALL=C sort)
grep -A 3 '^id = "0-host"' dir/mpack.toml
mpack build dir/mpack.toml --system-lib --prefix pre_ -o again.tar
mkdir old
tar -xf data/formats/12_syslib_prefix.tar -C old
cmp old/lib0.o dir/host/0.o
mpack unpack again.tar -o other
diff -r -x mpack.toml dir other
mpack build dir/mpack.toml -o a.blob
mpack build other/mpack.toml -o b.blob
cmp a.blob b.blob
