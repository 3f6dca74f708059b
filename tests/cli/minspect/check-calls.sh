# A library that loads and fails when a function is called: the third verdict names the functions
export LC_ALL=C
machine=$(uname -m)
case $machine in
x86_64 | aarch64) ;;
*) echo "no code of $machine is searched"; exit 77 ;;
esac
mkdir libs
: >empty.c
cc -shared -fPIC -nostdlib -Wl,-soname,libneeded.so empty.c -o libs/libneeded.so
cat >code.c <<END
typedef struct { const char *data; unsigned long size; } text;
extern int TVMFFIFunctionGetGlobal(const text *, void **);
extern int TVMFFIEnvModLookupFromImports(void *, const char *, void **);
extern int absent(void), TVMBackendGetFuncFromEnv(void *, const char *, void **);
void *__tvm_ffi__library_ctx;
int (*__TVMBackendRunOnce)(void);
#define FN(name) int __tvm_ffi_##name(void *s, void *a, int n, void *r)
__attribute__((noinline)) static int deeper(int x) { return x ? absent() : 0; }
FN(fine) { return 0; }
FN(fine2) { void *f; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "ffi.Array", &f); }
#ifdef NAMES
FN(looks) { void *f; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "my.own.function", &f); }
FN(asks) { void *f; text t = { "tvm.contrib.cblas.matmul", 24 }; return TVMFFIFunctionGetGlobal(&t, &f); }
FN(tvms) { void *f; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "vm.builtin.copy", &f); }
FN(own) { void *f; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "fine", &f); }
#endif
#ifdef SYMBOLS
FN(calls) { return deeper(n) + 1; }
FN(old) { void *f; return TVMBackendGetFuncFromEnv(0, "ffi.Array", &f); }
FN(once) { return __TVMBackendRunOnce(); }
#endif
#ifdef START
__attribute__((constructor)) static void start(void) { deeper(1); }
#endif
#ifdef DATA
int (*volatile pointer)(void) = absent;
FN(points) { return pointer(); }
#endif
END
# make NAME OPTION...: with the versions of a library, so that a name without one is known to be nobody's
make()
{
	name=$1
	shift
	cc -w -O2 -shared -fPIC -nostdlib "$@" code.c -o "$name.so" libs/libneeded.so
}
cat >versions.c <<END
int needed(void) { return 0; }
END
echo 'V1 { global: needed; };' >versions.map
cc -shared -fPIC -nostdlib -Wl,-soname,libneeded.so -Wl,--version-script=versions.map versions.c -o libs/libneeded.so
echo 'extern int needed(void); int uses(void) { return needed(); }' >>code.c
see()
{
	minspect --check --glibc 2.36 --libs libs "$@" | sed "s/ on [A-Za-z0-9-]*\([,;:]\)/ on MACHINE\1/"
}
make names -DNAMES
make symbols -DSYMBOLS
make now -DSYMBOLS -Wl,-z,now
make start -DSTART
make data -DDATA
echo "-- functions that are looked up"
see --tvm 0.27 names.so
see --tvm ffi names.so
echo "-- symbols and pointers, looked for at the call"
see --tvm 0.25 symbols.so
see --tvm 0.27 symbols.so
echo "-- looked for at once"
see --tvm 0.27 now.so
see --tvm 0.27 data.so
see --tvm 0.27 start.so
echo "-- a library that registers one function and looks another up"
cat >registers.c <<'END'
typedef struct { const char *data; unsigned long size; } text;
int TVMFFIFunctionSetGlobal(const text *name, void *f, int override) { return 0; }
int TVMFFIFunctionGetGlobal(const text *name, void **f) { return 0; }
__attribute__((constructor)) static void registers(void)
{
	text t = { "my.own.function", 15 };
	TVMFFIFunctionSetGlobal(&t, 0, 0);
}
int TVMFFIEnvModRegisterSystemLibSymbol, TVMFFIEnvModLookupFromImports;
int asks(void **f) { text t = { "tvm.contrib.cblas.matmul", 24 }; return TVMFFIFunctionGetGlobal(&t, f); }
END
cc -w -O2 -shared -fPIC -nostdlib registers.c -o registers.so
see --runtime registers.so names.so
see --tvm 0.27 --runtime registers.so names.so | tail -n 1
echo "-- as JSON, and its status"
minspect --check --json --tvm 0.27 --libs libs --glibc 2.36 names.so >names.json || echo "status $?"
grep -E '"(verdict|loads|when)"' names.json
sed -n '/"failing"/,/\]/p' names.json
