# needed libraries, versions of symbols and undefined symbols are looked up in the folder, loaders in named ones
mkdir libs
cat >made.c <<'END'
int absent(void);
int present(void);
int __tvm_ffi_f(void *s, void *a, int n, void *r);
int __tvm_ffi_f(void *s, void *a, int n, void *r) { (void)s, (void)a, (void)n, (void)r; return absent() + present(); }
END
echo 'int present(void) { return 0; }' >present.c
cat >loads.c <<'END'
int TVMFFIEnvModRegisterSystemLibSymbol(void);
const char *const names[] = { "ffi.Module.load_from_bytes.opencl", "no ffi.Module.load_from_bytes.metal",
	"ffi.Module.load_from_bytes.cuda and more", "ffi.Module.load_from_bytes." };
int TVMFFIEnvModRegisterSystemLibSymbol(void) { return names[0][0]; }
END
echo 'NEW_2 { global: *; };' >versioned.map
cc -shared -fPIC -nostdlib -Wl,-soname,libpresent.so present.c -o libs/libpresent.so
cc -shared -fPIC -nostdlib loads.c -o loads.so
cc -shared -fPIC -nostdlib made.c libs/libpresent.so -o made.so
cc -shared -fPIC -nostdlib -Wl,-soname,libknown.so.1 -Wl,--version-script=versioned.map present.c -o libs/libknown.so.1
cc -shared -fPIC -nostdlib made.c libs/libknown.so.1 -o mixed.so
here="--machine $(uname -m) --glibc 2.36 --libs libs"
see()
{
	# shellcheck disable=SC2086 # a list of words
	minspect --check $here "$@" | sed "s/ on [^ ;:]*/ on MACHINE/"
}
echo "-- an undefined symbol"
see --tvm 0.27 made.so
see --tvm 0.27 mixed.so
echo "-- a needed library"
mv libs/libpresent.so .
see --tvm 0.27 made.so
echo "-- a version of a symbol"
cc -shared -fPIC -nostdlib -Wl,-soname,libpresent.so -Wl,--version-script=versioned.map present.c -o libs/libpresent.so
cc -shared -fPIC -nostdlib -Dabsent=present made.c libs/libpresent.so -o versioned.so
see --tvm 0.27 versioned.so
cp libpresent.so libs
see --tvm 0.27 versioned.so
echo "-- loaders of a named library"
minspect --check --machine x86_64 --glibc 2.36 --libs libs --runtime loads.so data/formats/01_opencl_scale.so \
	data/formats/05_webgpu.blob || echo "status $?"
echo "-- nobody says whether a runtime is there"
echo 'int any;' >any.c
echo 'void TVMFFIErrorSetRaisedFromCStr(const char *, const char *);
int __tvm_ffi_f(void *s, void *a, int n, void *r);
int __tvm_ffi_f(void *s, void *a, int n, void *r) { (void)s, (void)a, (void)n, (void)r; TVMFFIErrorSetRaisedFromCStr("E", "e"); return -1; }' >raises.c
cc -shared -fPIC -nostdlib -Wl,-soname,libtvm_ffi.so any.c -o libtvm_ffi.so
echo 'int __tvm_ffi_f(void); int __tvm_ffi_f(void) { return 0; }' >quiet.c
cc -shared -fPIC -nostdlib -Wl,--no-as-needed quiet.c libtvm_ffi.so -o linked.so
cc -shared -fPIC -nostdlib raises.c -o raises.so
cc -shared -fPIC -nostdlib quiet.c -o alone.so
rm libtvm_ffi.so
see linked.so raises.so alone.so
see --tvm ffi linked.so
echo "-- a pointer to what nobody calls is no call"
printf '__kernel void one(__global float *x) { x[0] = 1; }\n' >one.cl
mpack init one.cl >one.toml && mpack build one.toml -o one.so
see --tvm ffi one.so
