# what a library may want of any system: versions of symbols, Python, strings, torch and tvm-ffi
command -v readelf >/dev/null || { echo "binutils are not installed"; exit 77; }
cc=${CC:-cc}
cat >ext.c <<'C'
extern void *PyModule_Create2(void *, int), *PyUnicode_FromString(const char *), *PyObject_Vectorcall(void *), *_PyLong_New(long);
void *PyInit_ext(void) { return PyModule_Create2(PyUnicode_FromString(""), 1013); }
void *newer(void) { return PyObject_Vectorcall(_PyLong_New(1)); }
C
cat >stable.c <<'C'
extern void *PyModule_Create2(void *, int), *PyUnicode_FromString(const char *), *PyType_GetName(void *);
void *PyInit_ext(void) { return PyModule_Create2(PyType_GetName(PyUnicode_FromString("")), 1013); }
C
cat >frames.c <<'C'
extern void old(void) __asm__("_ZN3c1019UndefinedTensorImpl10_singletonERKSs");
extern void at_call(void) __asm__("_ZN2at6Tensor3addERKS0_NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
extern void json(void) __asm__("_ZN3tvm3ffi4json5ParseERKNS0_6StringEPS2_");
extern char table __asm__("_ZTVN3tvm3ffi9ModuleObjE");
extern int aoti_torch_empty_strided(void), TVMFFIFunctionCall(void);
void *g(void) { json(); return &table; }
void f(void) { old(); at_call(); aoti_torch_empty_strided(); TVMFFIFunctionCall(); }
C
cat >late.c <<'C'
extern int newest(void);
int f(void) { return newest(); }
C
# a library of another, later glibc, to be linked against
printf 'int newest(void) { return 1; }\n' >libc_later.c
printf 'GLIBC_2.39 { newest; };\n' >later.map
$cc -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script=later.map libc_later.c -o libc_later.so
for f in ext stable frames; do $cc -shared -fPIC -nostdlib $f.c -o $f.so; done
$cc -shared -fPIC -nostdlib late.c libc_later.so -o late.so
look()
{
	minspect --check --machine "$(uname -m)" --only abi --abi "$@" || echo "exit $?"
}
look any ext.so stable.so frames.so late.so
look abi3 ext.so stable.so
look abi3-3.9 stable.so
look abi3-3.11 stable.so
look cxx11,torch-stable,tvm-ffi frames.so | sort
look manylinux_2_28 late.so frames.so
look manylinux2014 late.so
look manylinux_2_39,abi3 late.so
# a wheel is looked into library by library, also where minspect finds nothing else to say of one
python3 -c 'import zipfile
z = zipfile.ZipFile("ext.whl", "w")
z.write("ext.so", "ext/_c.abi3.so")
z.write("stable.so", "ext/_d.abi3.so")'
look abi3 ext.whl | tail -n 3
minspect --check --only abi --abi manylinux_2_99 ext.so || echo "exit $?"
minspect --check --only abi --abi abi3-4 ext.so || echo "exit $?"
minspect --check --only abi ext.so || echo "exit $?"
minspect --check --json --only abi --abi cxx11 frames.so | grep -E '"(loads|verdict|check)"' || :
