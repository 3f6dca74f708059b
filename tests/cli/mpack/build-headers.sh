# C sources find TVM's headers in a Python environment, behind those of everybody else
pip=venv/lib/python3.11/site-packages
mkdir -p $pip/tvm_ffi/include/tvm/ffi $pip/tvm_ffi/lib own/tvm/ffi
touch $pip/tvm_ffi/lib/libtvm_ffi.so
echo '#define ANSWER __tvm_ffi_from_pip' >$pip/tvm_ffi/include/tvm/ffi/c_api.h
echo '#define ANSWER __tvm_ffi_from_own' >own/tvm/ffi/c_api.h
printf '#include <tvm/ffi/c_api.h>\nint ANSWER(void *self, const void *args, int n, void *result) { return 0; }\n' >a.c
printf '[package]\nname = "x"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["a.c"]\n' >mpack.toml
functions() { minspect --functions x.so | grep -o 'from_[a-z]*' | head -n 1; }
mpack build -o x.so 2>/dev/null || echo "status $?"
VIRTUAL_ENV=$PWD/venv mpack build -o x.so && functions
CONDA_PREFIX=$PWD/venv mpack build -o x.so --check-repro && functions
VIRTUAL_ENV=$PWD/venv CPATH=own mpack build -o x.so && functions
