# The same bytes from the folder itself, from above it and by an absolute name.
mkdir a
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >a/mpack.toml
echo 'const char *__tvm_ffi_f(void) { return __FILE__; }' >a/host.c
mpack build a/mpack.toml -o 1.so
(cd a && mpack build -o ../2.so --cflag -O2)
mpack build "$PWD/a/mpack.toml" -o 3.so -j1
cmp 1.so 2.so
cmp 1.so 3.so
grep -c host.c 1.so
