# Archives, libraries and objects of other systems come apart, and pack to the same blob.
tar cf win.tar -C data/objects host.x86_64.obj devc.x86_64.obj
tar czf sources.tar -C data/csource legacy_devc.c
cp data/formats/01_opencl_scale.blob want.blob
for f in data/objects/macho.a win.tar data/objects/scale.dll data/objects/scale.x86_64.dylib data/objects/universal.o \
	data/objects/devc.i686.obj data/csource/legacy_devc.c sources.tar; do
	rm -rf dir
	mpack unpack "$f" -o dir
	grep -E '^(target|sources|abi)' dir/mpack.toml
	mpack build dir/mpack.toml -o again.blob
	case $f in
	*legacy* | sources*) cmp again.blob data/formats/20_legacy_opencl.blob ;;
	*) cmp again.blob want.blob ;;
	esac
done
rm -rf dir
mpack unpack win.tar -o dir
mpack build dir/mpack.toml -o again.tar
minspect again.tar | head -n 6
mpack build dir/mpack.toml --target x86_64-linux-gnu -o again.so 2>&1 || echo $?
mpack check dir/mpack.toml
