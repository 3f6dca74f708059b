# Without a blob there is nothing for an object to hold.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
echo 'int f(void) { return 1; }' >host.c
mpack build -o deploy.o
