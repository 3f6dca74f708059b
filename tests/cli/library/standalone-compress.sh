# a model that is carried packed: smaller where it pays, unpacked by its own executor, and given back as it was
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
cc -std=gnu17 -I"$sdk/include" -o call "$ROOT/tests/embed/standalone.c" -ldl
mpack build data/relax/gelu.so --standalone -o plain.so
mpack build data/relax/gelu.so --standalone --compress zstd -o packed.so
./call ./plain.so forward 4 24
./call ./packed.so forward 4 24
readelf -d packed.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/needs \1/p' | { grep -vE 'libc\.so|libm\.so|ld-linux' || :; }
nm -D --defined-only packed.so | grep -c ZSTD || :
minspect packed.so | sed -n 's/ [0-9.]* KiB/ N KiB/g; s/^  packed  */packed /p'
minspect --json packed.so | grep -c '"\(un\)\?packed_bytes"'
minspect --verify packed.so
minspect --run forward packed.so --input x=@data/relax/gelu.in0.npy --expect @data/relax/gelu.out0.npy >/dev/null && echo "minspect runs it"
mpack unpack packed.so -o parts
cmp parts/base.so data/relax/gelu.so && echo "carried as it was"
grep compress parts/mpack.toml
# built from what unpack gave
mpack build parts/mpack.toml -o again.so 2>/dev/null
./call ./again.so forward 4 24
# damaged in a frame: refused by both, and nothing else happens
python3 - <<'END'
data = bytearray(open("packed.so", "rb").read())
at = data.index(b"\x28\xb5\x2f\xfd", data.index(b"MPKMODEL"))
data[at + 20] ^= 0xff
open("damaged.so", "wb").write(data)
END
minspect damaged.so || echo "status $?"
./call ./damaged.so forward 4 24 || echo "status $?"
# what cannot be is said
try() { "$@" || echo "status $?"; }
try mpack build data/relax/gelu.so --compress zstd -o x.so
try mpack build data/relax/gelu.so --standalone --compress lz4 -o x.so
cat >mpack.toml <<'END'
[package]
name     = "x"
compress = "lz4"
[[module]]
id   = "m"
kind = "c"
sources = ["m.c"]
END
echo 'int m;' >m.c
try mpack build
sed -i 's/lz4/zstd/' mpack.toml
try mpack build
sed "/^standalone/a compress = 'zstd'
	s|kernels.ptx|$DATA/launch/kernels.ptx|" data/launch/standalone_cuda.toml >launch.toml
try mpack build launch.toml
