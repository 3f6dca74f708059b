# objects and archives are linked into a library that is gone afterwards, however the call ends
export TMPDIR="$PWD/tmp"
mkdir tmp
cc -c -fPIC -o m.o "$ROOT/tests/modules/ffi.c"
ar rcs m.a m.o
tar cf m.tar m.o
gzip -c m.o >m.o.gz
cp m.o -- -m.o
cp "$ROOT/tests/modules/ffi.c" lib0.c
tar cf source.tar lib0.c
mkdir -p a b
cp lib0.c a/lib0.c
echo 'int other(void) { return 1; }' >b/lib0.c
tar cf same-names.tar b/lib0.c a/lib0.c
printf '[[case]]\nrun = "echo"\nargs = [{ input = "7" }]\nexpect = ["i64=7"]\n' >m.toml
for file in m.o m.a 'm.a(m.o)' m.tar m.o.gz ./-m.o source.tar same-names.tar; do
	minspect --run echo "$file" --input 7
	minspect --cases m.toml "$file"
done
minspect --run add data/formats/12_syslib_prefix.tar --input 16xf32=1 --input 16xf32=2 --out 16xf32
minspect --run add data/formats/12_syslib_prefix.tar --input 15xf32=1 || echo $?

echo "-- C++ needs its library"
cat >x.cc <<'END'
#include <stdexcept>
#include <vector>
extern "C" int __tvm_ffi_f(void *self, const void *args, int n, void *out)
{
	try {
		return std::vector<int>().at(1);
	} catch (const std::out_of_range &) {
		return 0;
	}
}
END
c++ -c -fPIC x.cc
minspect --run f x.o

echo "-- what cannot be linked or loaded"
case $(uname -m) in x86_64) code='\267' ;; *) code='\076' ;; esac
cp m.o other.o
printf "$code" | dd of=other.o bs=1 seek=18 conv=notrunc 2>/dev/null
tar cf mixed.tar m.o other.o
for file in other.o mixed.tar; do
	minspect --run echo "$file" 2>&1 | sed 's/an object for .*, but the target is .*/MACHINES/'
	minspect -q --run echo "$file" 2>/dev/null || echo $?
done
printf 'int nobody(void);\nint __tvm_ffi_f(void *self, void *args, int n, void *out) { return nobody(); }\n' >u.c
cc -c -fPIC u.c
minspect --run f u.o || echo $?
cp m.o again.o
ar rcs twice.a m.o again.o
minspect --run echo twice.a 2>error || echo $?
grep -o 'twice.a: error: it cannot be linked into a library: .*multiple definition' error |
	sed 's/: [^ ]*twice.a(/: (/'
echo '#include "tvm/ffi/c_api_of_no_tvm.h"' >h.c
tar cf header.tar h.c
minspect --run f header.tar 2>error || echo $?
grep -o 'library: 0-h.c:1.*' error
minspect --run f m.o || echo $?
CC=no-such-compiler minspect --run echo m.o || echo $?
CC=false minspect --cases m.toml m.o || echo $?
TMPDIR=/nowhere/at/all minspect --run echo m.o 2>&1 | sed 's/mpack-[^:]*/DIR/'

echo "-- kernels need no linker"
CC=no-such-compiler minspect --run add_kernel data/formats/12_syslib_prefix.tar --grid 1 --block 16 \
	--input 16xf32=1 --device cuda || echo $?

echo "-- ends"
minspect --run crash m.o || echo $?
minspect --run hang m.o --timeout 0.2 || echo $?
for signal in HUP TERM KILL; do
	minspect --run hang m.o 2>/dev/null &
	until ls tmp/*/library.so >/dev/null 2>&1; do sleep 0.05; done
	kill -$signal $!
	{ wait $! || :; } 2>/dev/null
	# the next one waits for a file of its own
	while ls tmp/*/library.so >/dev/null 2>&1; do sleep 0.05; done
done
for _ in $(seq 60); do
	rmdir tmp 2>/dev/null && break
	sleep 0.2
done
test ! -e tmp
