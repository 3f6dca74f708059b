# two objects that define one symbol are told of with both names, before the linker runs
manifest() {
	printf '[package]\nname = "two"\n[[module]]\nid = "host"\nkind = "host"\nsources = [%s]\n' "$1" >mpack.toml
}
refused() {
	manifest "$1"
	status=0
	mpack build -o two.so || status=$?
	test "$status" -eq 4
	test ! -e two.so
}
echo 'int __tvm_ffi_f(void *s, void *a, int n, void *r) { return 0; } int twice; int both(void) { return 1; }' >a.c
echo 'int both(void) { return 2; }' >b.c
echo 'int twice; int both(void) { return 3; } int g(void) { return 4; }' >c.c
echo 'int twice = 3;' >d.c
cc -c -fPIC b.c c.c d.c
ar rc libc.a c.o d.o
ar rc libbd.a b.o d.o
refused '"a.c", "b.c"'
refused '"a.c", "b.o"'
refused '"a.c", "libc.a"'
refused '"b.o", "a.c", "libbd.a"'
refused '"libc.a"'
printf '[package]\nname = "g"\n[[module]]\nid = "h"\nkind = "host"\nsources = ["g.c"]\n[[function]]\nname = "g"\ncalls = "void g(void)"\nparams = []\n' >mpack.toml
echo 'void g(void) {} int __tvm_ffi_g(void *s, void *a, int n, void *r) { return 0; }' >g.c
mpack build -o two.so || test $? -eq 4
# what may be there twice: weak and common symbols, static ones, and what C++ makes in groups
cat >e.cc <<'END'
inline int same(int x) { return x + 1; }
template <class T> T made(T x) { return x; }
extern "C" int use_e(int x) { return same(x) + made(x); }
END
sed 's/use_e/use_f/' e.cc >f.cc
echo '__attribute__((weak)) int weak(void) { return 1; } static int own(void) { return 2; } int h(void) { return own(); }' >h.c
sed 's/int h(/int i(/' h.c >i.c
echo 'int common;' >j.c
cp j.c k.c
cc -c -fPIC -fcommon j.c k.c
manifest '"a.c", "e.cc", "f.cc", "h.c", "i.c", "j.o", "k.o"'
mpack build -o two.so
minspect --functions two.so | tail -n 1
# an archive as an output is linked later, but has the same mistake
manifest '"a.c", "b.c"'
mpack build -o two.a || test $? -eq 4
