# Neither __FILE__ nor debug information gives away where a library was built.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
echo 'const char *__tvm_ffi_f(void) { return __FILE__; }' >host.c
mpack build -o deploy.so --check-repro --cflag -g -v
