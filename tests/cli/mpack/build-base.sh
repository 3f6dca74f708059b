# The code of a finished library, another blob: smaller and larger than the old one.
cp data/formats/01_opencl_scale.so lib.so
printf '[package]\nname = "deploy"\nroot = "host"\nbase = "%s"\n[[module]]\nid = "host"\nkind = "host"\nimports = ["kernels"]\n[[module]]\nid = "kernels"\nkind = "my_runtime"\npayload = "data/formats/04_metal.blob"\n' lib.so >mpack.toml
mpack build -o new.so
minspect new.so | tail -n 2
mpack edit new.so -o new.so --replace /0=data/formats/02_cuda_source_dynshmem.blob
minspect new.so | tail -n 2
mpack build -o new.blob
