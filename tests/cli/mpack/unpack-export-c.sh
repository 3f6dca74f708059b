# An export with a C host comes apart with its sources, and packs to the same blob and code.
for f in opencl relax host mixed two_hosts; do
	mpack unpack data/csource/$f.tar -o $f
	(cd $f && find . -type f | sort)
done
cat opencl/mpack.toml host/mpack.toml mixed/mpack.toml two_hosts/mpack.toml
for f in opencl relax mixed two_hosts; do
	mpack build $f/mpack.toml -o $f.blob
	minspect -q --extract $f.want data/csource/$f.tar
	minspect -q --extract $f.got $f.blob
	diff -r -x index.json -x functions.json $f.want $f.got
done
tar xzf data/csource/opencl.tar lib0.c devc.c
cmp lib0.c opencl/host/0.c
minspect --diff data/csource/opencl.tar opencl.blob | head -n 5
# what the compiler needs stands in the manifest; without it, it says so
mpack build two_hosts/mpack.toml -o two.so
minspect two.so | sed -n 3,5p
