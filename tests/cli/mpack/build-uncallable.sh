# what nobody will be able to call is refused, with the nearest miss, unless it is asked for; what a loader opens
# for something else is said; C++ is compiled by its own driver
host() # FILE CODE [OPTION...]
{
	printf '%b\n' "$2" >"$1"
	printf '[package]\nname = "x"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' "$1" >mpack.toml
	shift 2
	mpack build -o x.so "$@" || echo "status $?"
}
any='void *self, const void *args, int n, void *result'
host a.cc "int add_one($any) { return 0; }"
host a.cpp "int __tvm_ffi_add($any) { return 0; }"
host a.cxx "extern \"C\" int __tvm_ffi_add($any) { try { throw n; } catch (int) { return 0; } }"
minspect --functions x.so | grep -c add
readelf -d x.so | grep -c 'NEEDED.*libstdc++'
host a.c "int tvm_ffi_add($any) { return 0; }"
host a.c "int __tvm_ffi__add($any) { return 0; }"
minspect --functions x.so | grep -c _add
host a.c "__attribute__((visibility(\"hidden\"))) int __tvm_ffi_add($any) { return 0; }"
host a.c "int add($any) { return 0; }"
host a.c "int add;"
rm -f x.so
host a.c "int add($any) { return 0; }"
ls x.so 2>/dev/null || echo "nothing was written"
host a.c "int add($any) { return 0; }" --allow-empty
minspect -q x.so 2>/dev/null || echo "opened with status $?"
host a.c "int add($any) { return 0; }" --emit tar -q
host a.cc "int add_one($any) { return 0; }" --abi legacy
host a.c "int add($any) { return 0; }" --abi legacy
host a.c "int __tvm_ffi_add($any) { return 0; }"
printf 'imports = ["d"]\n[[module]]\nid = "d"\nkind = "mine"\npayload = "a.c"\n' >>mpack.toml
mpack build -o x.o
mpack build -q -o x.o
mpack build -o x.tar
printf 'int add;' >a.c
mpack build -o x.so
minspect -q x.so >/dev/null && echo "a blob makes a library of it"
head -c 32 /dev/zero >none.bin
printf '[package]\nname = "x"\n[[module]]\nid = "c"\nkind = "const_loader"\npayload = "none.bin"\n' >mpack.toml
mpack build -o x.blob
# the drivers of C++: named, beside a compiler of C that was named, of the environment
host a.cc "extern \"C\" int __tvm_ffi_add($any) { return 0; }" --cxx no-such-compiler
host a.cc "extern \"C\" int __tvm_ffi_add($any) { return 0; }" --cc gcc --print-commands 2>&1 | cut -d' ' -f1
CXX='no-such-compiler' host a.cc "extern \"C\" int __tvm_ffi_add($any) { return 0; }"
