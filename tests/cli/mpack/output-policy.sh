# What an output may replace, and what it keeps of it.
blob=data/formats/01_opencl_scale.blob
status() { status=0; "$@" || status=$?; echo "status $status"; }

mpack build $blob -o deploy.so
chmod 600 deploy.so
mpack build $blob -o deploy.so
stat -c %a deploy.so
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}' >k.cl
chmod 640 deploy.so
mpack edit deploy.so -o deploy.so --replace /0=k.cl
stat -c %a deploy.so

# An input is never overwritten, under whichever name.
cp $blob mine.blob
ln mine.blob same.blob
status mpack build mine.blob -o same.blob
cmp mine.blob $blob
status mpack edit deploy.so -o k.cl --replace /0=k.cl
mpack unpack $blob -o files
cp files/1-opencl/kernels.cl kept.cl
for name in files/mpack.toml files/1-opencl/kernels.cl; do
	status mpack build files/mpack.toml --emit blob -o $name
done
cmp kept.cl files/1-opencl/kernels.cl
mpack build files/mpack.toml -o p.blob --fsync
cmp p.blob $blob

# A link stands for its file; one that leads nowhere is not written through.
ln -s deploy.so link.so
mpack build $blob -o link.so
readlink link.so
ln -s nowhere.so dangling.so
status mpack build $blob -o dangling.so
ln -s loop.so loop.so
status mpack build $blob -o loop.so
# a descriptor whose file has no name any more
exec 9>gone.so
rm gone.so
ln -s /proc/self/fd/9 nameless.so
status mpack build $blob -o nameless.so
exec 9>&-
rm nameless.so

# A linker whose output is no library, or has no blob in it.
cat >cc1 <<'END'
#!/bin/sh
case " $* " in *" -shared "*)
	while [ "$1" != -o ]; do shift; done
	echo garbage >"$2"
	exit 0 ;;
esac
exec cc "$@"
END
sed 's/echo garbage >"$2"/echo "int x;" | cc -shared -fPIC -x c - -o "$2"/' cc1 >cc2
chmod +x cc1 cc2
PATH=$PWD:$PATH
cp deploy.so old.so
status mpack build $blob -o deploy.so --cc cc1
status mpack build $blob -o deploy.so --cc cc2
cmp old.so deploy.so

# What a killed run left of the same directory goes away with the next; what is not ours stays.
mkdir .out.abc123.partial .out.12.other
touch .out.abc123.partial/file .p.blob.abc123.partial .p.blob.abc12.partial
mpack unpack $blob -o out
mpack build files/mpack.toml --emit blob -o p.blob
ls -A
