# host code alone: a blob that lists nothing else, objects without a blob; and why a module stays a payload
any='void *self, const void *args, int n, void *result'
printf "int __tvm_ffi_f($any) { return 0; }\n" >f.c
printf "int __tvm_ffi_g($any) { return 0; }\n" >g.c
cat >mpack.toml <<'END'
[package]
name = "two"
[[module]]
id = "a"
kind = "host"
sources = ["f.c"]
imports = ["b"]
[[module]]
id = "b"
kind = "host"
sources = ["g.c"]
END
mpack build -o two.so
mpack build -o two.tar
mpack build -o two.blob
for f in two.so two.tar two.blob; do
	mpack unpack $f -o dir
	mpack build dir/mpack.toml -o again.blob
	cmp again.blob two.blob
	case $f in *.blob) ;; *) mpack build dir/mpack.toml -o again.so && minspect --functions again.so | grep -c '^  [fg]$' ;; esac
	rm -r dir
done
sed '/^imports/d; /"b"/,$d' mpack.toml | sed '$d' >one.toml
for f in one.a one.tar; do
	mpack build one.toml -o $f
	mpack unpack $f -o dir
	grep sources dir/mpack.toml
	mpack build dir/mpack.toml -o again.so
	minspect --functions again.so | grep -c '^  f$'
	rm -r dir
done
# bytes behind what TVM reads: no parts give them again
python3 - <<'END'
import struct
code = open("data/formats/01_opencl_scale.blob", "rb").read()
at = code.index(b"opencl") + 6
size, = struct.unpack_from("<Q", code, at)
body = code[8:at] + struct.pack("<Q", size + 3) + code[at + 8:at + 8 + size] + b"abc" + code[at + 8 + size:]
open("tail.blob", "wb").write(struct.pack("<Q", len(body)) + body)
END
mpack unpack -v tail.blob -o dir
