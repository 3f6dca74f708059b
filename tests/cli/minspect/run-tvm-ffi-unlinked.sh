# code for libtvm_ffi.so that was not linked with it, whose constructor needs it at once
for found in /usr/local/lib/python3*/*-packages/tvm_ffi /usr/lib/python3/dist-packages/tvm_ffi; do
	test ! -e "$found" || { echo "libtvm_ffi.so is installed for all"; exit 77; }
done
unset VIRTUAL_ENV CONDA_PREFIX MPK_TVM_FFI
cat >m.c <<'END'
int TVMFFITypeGetOrAllocIndex(void);
__attribute__((constructor)) static void begin(void) { (void)TVMFFITypeGetOrAllocIndex(); }
int __tvm_ffi_f(void *self, const void *args, int n, void *out) { return n + !self + !args + !out; }
END
cc -shared -fPIC -o m.so m.c
HOME=/nonexistent minspect --run f m.so 2>&1 || echo "status $?"
