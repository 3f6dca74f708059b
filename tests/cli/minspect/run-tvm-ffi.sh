# C++ functions of tvm-ffi, through its real library; directly and by way of another library
for real in ${MPK_TVM_FFI:-} "$ROOT"/out/venv*/lib/python3*/site-packages/tvm_ffi/lib/libtvm_ffi.so \
	"${VIRTUAL_ENV:-/nonexistent}"/lib/python3*/site-packages/tvm_ffi/lib/libtvm_ffi.so; do
	test -e "$real" && break
done
test -e "$real" || { echo "libtvm_ffi.so is not installed"; exit 77; }
lib=data/ffi/ffi_cpp.so
minspect --tvm-ffi "$real" --run mul_ints $lib --input 6 --input 7 --expect 42
MPK_TVM_FFI=$real minspect --run shout $lib --input str=a_longer_text --expect str=a_longer_text!
minspect --tvm-ffi "$real" --run add_one_cpu $lib --input 4xf32=1,2,3,4 --out 4xf32
minspect --tvm-ffi "$real" --run mul_ints $lib --input 6 || echo $?
cp $lib libcpp.so
cat >m.c <<'END'
int __tvm_ffi_mul_ints(void *self, const void *args, int n, void *out);
int __tvm_ffi_f(void *self, const void *args, int n, void *out)
{
	return __tvm_ffi_mul_ints(self, args, n, out);
}
END
cc -shared -fPIC -o m.so m.c ./libcpp.so -Wl,--unresolved-symbols=ignore-all
minspect --tvm-ffi "$real" --run f m.so --input 5 --input 5 --expect 25
# several calls in a process: the first child gives up for one that opens the real library
cat >m.toml <<'END'
[[case]]
run = "f"
args = [{ input = "5" }, { input = "6" }]
expect = ["30"]

[[case]]
run = "f"
args = [{ input = "5" }]
raises = "TypeError"
END
minspect --tvm-ffi "$real" --cases m.toml m.so
