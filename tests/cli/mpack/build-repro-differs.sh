# --check-repro finds the time in the code, and says where to look.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
echo 'const char *__tvm_ffi_f(void) { return __TIME__; }' >host.c
mpack build -o deploy.so --check-repro
