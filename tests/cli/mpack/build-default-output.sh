# without -o: the package's name in the current folder, by --emit's suffix; never over what is packed
cp data/formats/01_opencl_scale.blob scale.blob
mpack build scale.blob
mpack build -q --emit=obj scale.blob
minspect scale.o | sed -n 1p
ls
mpack build --emit=blob scale.blob || echo "status $?"
mpack build --check-repro scale.blob || echo "status $?"
mkdir inner
printf '[package]\nname = "other"\n[[module]]\nid = "x"\nkind = "x"\npayload = "../scale.blob"\n' >inner/mpack.toml
mpack build inner/mpack.toml --dry-run | sed -n '$p'
