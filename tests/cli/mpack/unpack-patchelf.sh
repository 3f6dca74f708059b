# A library whose blob was replaced by a larger one survives patchelf.
command -v patchelf >/dev/null || { echo "patchelf is not installed"; exit 77; }
head -c 100000 /dev/zero | tr '\0' 'x' >new.bin
mpack unpack data/formats/06_relax_vm.so -o dir
sed -i 's/relax.VMExecutable"/my_runtime"/; s/^payload = .*/payload = "..\/new.bin"/' dir/mpack.toml
mpack build dir/mpack.toml -o new.so
mpack build dir/mpack.toml -o new.blob
patchelf --set-rpath '$ORIGIN/a/rather/long/path/that/does/not/fit/where/the/old/one/was' new.so
mpack unpack new.so -o other
mpack build other/mpack.toml -o other.blob
cmp new.blob other.blob
minspect --run add new.so --input 4xf32=1,2,3,4 --input 4xf32=1 --out 4xf32 --expect 4xf32=2,3,4,5
