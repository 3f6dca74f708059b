# A base whose blob is to be replaced must have one.
cp data/formats/14_llvm_noblob.so lib.so
printf '[package]\nname = "deploy"\nroot = "host"\nbase = "%s"\n[[module]]\nid = "host"\nkind = "host"\nimports = ["kernels"]\n[[module]]\nid = "kernels"\nkind = "my_runtime"\npayload = "data/formats/04_metal.blob"\n' lib.so >mpack.toml
mpack build -o new.so
