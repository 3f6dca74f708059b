# A finished library as base has no objects to put into an archive.
cp data/formats/01_opencl_scale.so lib.so
printf '[package]\nname = "deploy"\nroot = "host"\nbase = "%s"\n[[module]]\nid = "host"\nkind = "host"\nimports = ["kernels"]\n[[module]]\nid = "kernels"\nkind = "my_runtime"\npayload = "data/formats/04_metal.blob"\n' lib.so >mpack.toml
mpack build -o new.a
