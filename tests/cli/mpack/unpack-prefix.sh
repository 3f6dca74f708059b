# The blob of a library made for static linking has a prefix in its name, which stays.
printf '[package]\nname = "p"\n[[module]]\nid = "h"\nkind = "host"\nsources = ["a.c"]\nimports = ["k"]\n[[module]]\nid = "k"\nkind = "my_runtime"\npayload = "p"\n' >mpack.toml
echo 'int __tvm_ffi_f(void *s, void *a, int n, void *r) { (void)s, (void)a, (void)n, (void)r; return 0; }' >a.c
echo payload >p
mpack build -o obj.o
objcopy --redefine-sym __tvm_ffi__library_bin=net___tvm_ffi__library_bin obj.o
cc -shared -o net.so obj.o
mpack unpack net.so -o dir
echo 'another payload, which is longer' >dir/1-my_runtime/payload.bin
mpack build dir/mpack.toml -o new.so
readelf -W --dyn-syms new.so | grep -c net___tvm_ffi__library_bin
mpack unpack new.so -o other
cat other/1-my_runtime/payload.bin
