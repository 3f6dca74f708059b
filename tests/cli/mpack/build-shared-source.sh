# A shared library is no host source, whatever number ends its name.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' libm.so.6 >mpack.toml
touch libm.so.6
mpack build -o deploy.so
