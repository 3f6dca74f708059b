# symbols of C++ are looked for where the dynamic linker looks, and what no relocation names is not
mkdir lib
cat >ffi.c <<'END'
int present(int n) __asm__("_ZN3tvm3ffi7PresentEi");
int present(int n) { return n; }
int TVMFFIEnvModRegisterSystemLibSymbol(void);
int TVMFFIEnvModRegisterSystemLibSymbol(void) { return 0; }
END
cat >made.c <<'END'
int called(int n) __asm__(NAME);
__attribute__((visibility("default"))) int FUNCTION(int n);
int FUNCTION(int n) { return called(n); }
END
cc -shared -fPIC -nostdlib -Wl,-soname,libtvm_ffi.so ffi.c -o lib/libtvm_ffi.so
# shellcheck disable=SC2016 # $ORIGIN is the linker's
make_one() # NAME SYMBOL FUNCTION
{
	cc -shared -fPIC -nostdlib -DNAME="\"$2\"" -DFUNCTION="$3" made.c -Llib -Wl,--no-as-needed -ltvm_ffi \
		-Wl,-rpath,'$ORIGIN/lib' -o "$1"
}
here="--machine $(uname -m) --glibc 2.36"
see()
{
	# shellcheck disable=SC2086 # a list of words
	minspect check $here "$@" | sed -E 's/ on (x86-64|AArch64)/ on MACHINE/g'
}
make_one missing.so _ZN3tvm3ffi6AbsentEi __tvm_ffi_act
make_one present.so _ZN3tvm3ffi7PresentEi __tvm_ffi_act
make_one tables.so _ZTVN3tvm3ffi3ObjE __tvm_ffi_act
make_one engine.so _ZN3tvm3ffi6AbsentEi engine
echo "-- in the library that its run path leads to"
see missing.so present.so tables.so engine.so
see --tvm ffi missing.so present.so
echo "-- no library is at hand"
mv lib/libtvm_ffi.so .
see --tvm ffi missing.so
see --tvm ffi --json missing.so | grep -A4 -E '"verdict"|not_checked'
echo "-- the library that is missing, and not its symbols"
see engine.so
see --runtime libtvm_ffi.so missing.so engine.so
echo "-- a symbol that no relocation names"
cat >unused.c <<'END'
__asm__(".globl _ZSt21ios_base_library_initv\n.globl nobody_wants_this");
__attribute__((visibility("default"))) int engine(void);
int engine(void) { return 0; }
END
cc -shared -fPIC -nostdlib unused.c -o unused.so
see unused.so
echo "-- an extension of Python"
cat >extension.c <<'END'
void *PyModule_Create2(void *, int), *PyInit_gauge(void);
int lost_helper(void);
void *PyInit_gauge(void) { return PyModule_Create2(0, CALLED); }
END
cc -shared -fPIC -nostdlib -DCALLED=1 extension.c -o gauge.so
cc -shared -fPIC -nostdlib -DCALLED='lost_helper()' extension.c -o lost.so
see gauge.so lost.so
echo "-- a function that no function of the module comes to"
cat >plain.c <<'END'
int absent(void);
__attribute__((noinline)) int helper(void);
int helper(void) { return absent() + 1; }
int __tvm_ffi_act(void);
int __tvm_ffi_act(void) { return 0; }
END
cc -O1 -shared -fPIC -nostdlib plain.c -o plain.so
see plain.so
echo "-- what a host defines for its plugins"
cat >plugin.c <<'END'
int napi_create(int), host_log(int);
int start(int n);
int start(int n) { return napi_create(n) + host_log(n); }
END
echo 'int host_log(int); int host_log(int n) { return n; }' >host.c
cc -shared -fPIC -nostdlib plugin.c -o plugin.so
cc -shared -fPIC -nostdlib host.c -o host.so
see plugin.so
see --provides 'napi_*' plugin.so
see --provides 'napi_*' --provides host.so plugin.so
see --provides none.so plugin.so
echo "-- libraries of one wheel find each other, and those of another one"
mkdir -p one/pkg/lib two/ffi
cp engine.so one/pkg/lib/engine.so
cp libtvm_ffi.so two/ffi/libtvm_ffi.so
cc -shared -fPIC -nostdlib -DNAME='"_ZN3tvm3ffi7PresentEi"' -DFUNCTION=engine made.c -L. -Wl,--no-as-needed -ltvm_ffi -o one/pkg/other.so
(cd one && python3 -m zipfile -c ../one.whl pkg/)
(cd two && python3 -m zipfile -c ../two.whl ffi/)
see one.whl
see one.whl two.whl
see one two
