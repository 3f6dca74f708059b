# objects for other systems are read back: the same blob, whatever the format
blob=data/formats/07_relax_opencl.blob
minspect -q --extract want $blob
for triple in arm64-apple-macos x86_64-apple-darwin armv7-apple-ios x86_64-pc-windows-msvc \
	aarch64-pc-windows-msvc x86_64-w64-mingw32 i686-pc-windows-msvc; do
	mpack build $blob --target $triple -o $triple.o
	minspect $triple.o | head -n 4
	minspect --verify $triple.o
	minspect -q --extract $triple $triple.o
	diff -r -x index.json want $triple
	mpack unpack $triple.o -o $triple.unpacked
	mpack build $triple.unpacked/mpack.toml -o again.blob
	cmp again.blob $blob
	minspect --diff $blob $triple.o || test $? = 1
	mpack build $blob --target $triple --system-lib --prefix pre_ -o sys.o
	minspect sys.o | grep blob
done
# as C, too
mpack build $blob -o devc.c
minspect devc.c | head -n 4
mpack unpack devc.c -o c.unpacked
mpack build c.unpacked/mpack.toml -o again.blob
cmp again.blob $blob
