# A compiler that is not there is named, with the option that names another.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
echo 'int f(void) { return 1; }' >host.c
mpack build -o deploy.so --cc no-such-compiler
