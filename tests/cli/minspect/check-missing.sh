# A library that is missing is one cause, however many files want it and however many symbols come from it; what one that is
# needed calls in vain is one, too. Python's symbols are there where an extension has been loaded.
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
mkdir pkg
cat >lost.c <<'C'
int lost_a(void) { return 1; }
int lost_b(void) { return 2; }
int lost_c(void) { return 3; }
C
cat >inner.c <<'C'
int gone_a(void); int gone_b(void); int gone_c(void);
int inner(void) { return gone_a() + gone_b() + gone_c(); }
C
cat >ext.c <<'C'
void *PyLong_FromLong(long); void *PyDict_New(void);
void *PyInit_ext(void) { return PyDict_New() ? PyLong_FromLong(1) : 0; }
C
cc -shared -fPIC -o liblost.so.1 -Wl,-soname,liblost.so.1 lost.c
cc -shared -fPIC -o pkg/libinner.so -Wl,-soname,libinner.so inner.c
cc -shared -fPIC -o pkg/ext.so -Wl,-soname,ext.so ext.c
for i in 1 2 3; do
	echo "int lost_a(void); int lost_b(void); int f$i(void) { return lost_a() + (0 $(test $i = 2 && echo '+ lost_b()')); }" >a.c
	cc -shared -fPIC -o pkg/a$i.so a.c liblost.so.1
	echo "int inner(void); int g$i(void) { return inner(); }" >b.c
	cc -shared -fPIC -o pkg/b$i.so b.c pkg/libinner.so -Wl,-rpath,'$ORIGIN'
done
echo 'void *PyInit_ext(void); void *plug(void) { return PyInit_ext(); }' >plug.c
cc -shared -fPIC -o pkg/plug.so plug.c pkg/ext.so -Wl,-rpath,'$ORIGIN'
minspect check pkg | sed 's/: [0-9.]* KiB//'
minspect check pkg/plug.so | sed 's/;.*//'
