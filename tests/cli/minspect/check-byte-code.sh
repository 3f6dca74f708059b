# Functions in byte code fail with the host function that they call: it calls what nobody defines.
cp data/formats/06_relax_vm.blob vm.blob
mpack unpack vm.blob -o d 2>/dev/null
cat >d/f.c <<'END_OF_C'
extern int missing_symbol(void);
int __tvm_ffi_add(void *self, void *args, int n, void *out) { (void)self; (void)args; (void)n; (void)out; return missing_symbol(); }
int __tvm_ffi_multiply(void *self, void *args, int n, void *out) { (void)self; (void)args; (void)n; (void)out; return 0; }
END_OF_C
sed -i 's/^sources = .*/sources = ["f.c"]/' d/mpack.toml
mpack build d/mpack.toml -o vm.so
minspect check vm.so || echo "= $?"
minspect check --json vm.so | python3 -c 'import json, sys; print(json.load(sys.stdin)["files"][0]["failing"])'
# what calls none of the kind does not
sed -i 's/return missing_symbol()/return 0/; s/__tvm_ffi_multiply\(.*\) return 0;/__tvm_ffi_multiply\1 return missing_symbol();/' d/f.c
mpack build d/mpack.toml -o vm.so
minspect check vm.so || echo "= $?"
