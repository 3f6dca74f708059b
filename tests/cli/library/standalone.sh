# a model that carries its executor: called from C by dlopen, and what is told of it
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
cc -std=gnu17 -I"$sdk/include" -o call "$ROOT/tests/embed/standalone.c" -ldl
mpack build data/relax/gelu.so --standalone -o gelu.so
mpack build data/relax/twoout_dyn.so --standalone -o twoout.so
./call ./gelu.so forward 4 24
./call ./twoout.so forward 3 8
./call ./gelu.so forward 3 3 || echo "status $?"
./call ./gelu.so backward 4 24 || echo "status $?"
# needs libc, libm and the dynamic linker, no other library and no undefined function; exports its entries alone
readelf -d gelu.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/needs \1/p' | { grep -vE 'libc\.so|libm\.so|ld-linux' || :; }
nm -D --defined-only gelu.so | awk '{ print $2, $3 }' | sort
# what it carries is what was given
minspect gelu.so | sed -n 's/^  needs      no loader/needs no loader/p'
minspect --json gelu.so | sed -n 's/^ *"\(executor\|host_code\)"/\1/p'
mpack unpack gelu.so -o parts
cmp parts/base.so data/relax/gelu.so && echo "carried as it was"
minspect --verify gelu.so
cp gelu.so damaged.so
at=$(($(minspect --json gelu.so >/dev/null && grep -abo MPKMODEL damaged.so | head -n 1 | cut -d: -f1) + 70000))
printf 'x' | dd of=damaged.so bs=1 seek=$at conv=notrunc 2>/dev/null
minspect --verify damaged.so >said 2>&1 || echo "damaged: $?, $(grep -c 'the blob is damaged' said)"
minspect --run forward gelu.so --input x=@data/relax/gelu.in0.npy --expect @data/relax/gelu.out0.npy >/dev/null && echo "minspect runs it"
# whatever it carries, tvm-ffi of today calls it, and nobody before
mpack build data/legacy/mlp_llvm.so --standalone -o mlp.so
for release in 0.27 0.18; do
	minspect --check --tvm $release mlp.so || echo "status $?"
done
