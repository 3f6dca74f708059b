# every kind of file; what each of them printed builds
try() { # FILE...
	echo "== $*"
	mpack init "$@" >mpack.toml
	sed -n '/^\[\[module/,$p' mpack.toml
	mpack check -q && mpack build -q -o out.so && minspect --verify out.so
}
cp data/device/two.ptx data/device/two.sm_90.cubin data/device/tiny.speed.fatbin data/device/compute.spv data/device/buffers.spv .
for file in two.ptx two.sm_90.cubin tiny.speed.fatbin compute.spv buffers.spv; do
	try $file
done

cat >host.c <<'END'
__attribute__((visibility("default"))) int __tvm_ffi_nothing(void *self, const void *args, int n, void *out) { return 0; }
END
(echo 'extern "C"'; sed 's/nothing/cxx/' host.c) >host.cc
sed 's/nothing/of_object/' host.c | cc -c -x c -o host.o -
sed 's/nothing/of_archive/' host.c | cc -c -x c -o member.o -
ar rc libhost.a member.o
cat >host.ll <<'END'
define i32 @__tvm_ffi_ir(ptr %0, ptr %1, i32 %2, ptr %3) {
  ret i32 0
}
END
try host.c host.cc host.o libhost.a host.ll two.ptx
minspect out.so | grep functions
printf 'int x;\n' >empty.c
mpack init empty.c | sed -n '/sources/,$p'
# bitcode tells no names; a function that host code has is not generated again
if command -v llvm-as-19 >/dev/null; then llvm-as-19 host.ll -o host.bc; else clang-19 -c -emit-llvm -x ir host.ll -o host.bc; fi
printf '__kernel void nothing(__global float *x) { }\n' >nothing.cl
try host.c host.bc nothing.cl

# an object of TVM 0.20 and older says so
cc -c -fPIC "$ROOT/tests/modules/legacy.c" -o old.o
mpack init old.o | sed -n '/^abi/p'
# a finished library: its code stays, its blob is replaced
cp data/formats/01_opencl_scale.so scale.so
try scale.so nothing.cl
minspect out.so | tail -n 3
