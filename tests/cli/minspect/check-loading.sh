# What glibc refuses, or has no room for, and what it takes and does not find later
export LC_ALL=C
machine=$(uname -m)
test "$machine" = x86_64 || { echo "the file is for x86-64"; exit 77; }
mkdir libs
see()
{
	minspect --check --tvm 0.27 --machine x86_64 --glibc 2.36 --libs libs "$@" || echo "status $?"
}
# put OFFSET BYTES OUT: the library with other bytes
put()
{
	cp data/formats/14_llvm_noblob.so "$3"
	# shellcheck disable=SC2059 # the bytes are a format
	printf "$2" | dd of="$3" bs=1 seek="$1" conv=notrunc status=none
}
echo "-- the header"
put 7 '\011' system.so
put 8 '\001' version.so
put 9 '\001' padding.so
put 15 '\377' padding15.so
put 20 '\002' elf-version.so
see system.so
see version.so
see padding.so
see padding15.so
see elf-version.so
echo "-- variables of threads"
echo 'static __thread char x[SIZE] __attribute__((tls_model(MODEL)));
int __tvm_ffi_f(void *s, void *a, int n, void *r) { return x[n]; }' >tls.c
cc -w -O0 -shared -fPIC -nostdlib -DSIZE=1664 '-DMODEL="initial-exec"' tls.c -o fits.so
cc -w -O0 -shared -fPIC -nostdlib -DSIZE=1700 '-DMODEL="initial-exec"' tls.c -o large.so
cc -w -O0 -shared -fPIC -nostdlib -DSIZE=65536 '-DMODEL="local-dynamic"' tls.c -o dynamic.so
see fits.so
see large.so
see dynamic.so | sed 's/__tls_get_addr.*/.../'
echo "-- a hash table without the bits of its symbols"
at=$(readelf -SW data/formats/14_llvm_noblob.so | sed -n 's/.*\.gnu\.hash *GNU_HASH *[0-9a-f]* *\([0-9a-f]*\).*/\1/p')
put $((0x$at + 16)) '\0\0\0\0\0\0\0\0' bloom.so
see bloom.so
echo "-- an object"
echo 'int __tvm_ffi_f(void *s, void *a, int n, void *r) { return 0; }' >f.c
cc -c -w f.c -o f.o
see f.o
minspect --check --tvm ffi --machine x86_64 --libs libs f.o || echo "status $?"
see data/objects/host.arm64.o
