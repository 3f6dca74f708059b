# the entry: the function that loaders find as main, in libraries, objects and after an edit
cat >f.c <<'END'
#include <stdint.h>
struct any { int32_t type; uint32_t zero; int64_t value; };
int __tvm_ffi_seven(void *self, const void *args, int n, struct any *out)
{
	*out = (struct any){ 1, 0, 7 + n };
	return 0;
}
END
cat >legacy.c <<'END'
int seven(void *values, int *codes, int count, long long *result, int *result_code, void *self)
{
	*result = 7 + count;
	*result_code = 0;
	return 0;
}
END
manifest() # ABI SOURCE ENTRY
{
	printf '[package]\nname = "seven"\nabi = "%s"\nentry = "%s"\n' "$1" "$3"
	printf '[[module]]\nid = "h"\nkind = "host"\nsources = ["%s"]\nimports = ["d"]\n' "$2"
	printf '[[module]]\nid = "d"\nkind = "cuda"\nformat = "ptx"\ndata = "k.ptx"\n'
	printf '[[module.function]]\nname = "k"\nargs = []\nlaunch = []\n'
}
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n' >k.ptx
for via in llvm c; do
	for abi in ffi ffi-0.21 legacy; do
		source=f.c
		test $abi = legacy && source=legacy.c
		test $abi = ffi-0.21 && sed s/__tvm_ffi_// f.c >hybrid.c && source=hybrid.c
		manifest $abi $source seven >mpack.toml
		echo "-- $abi via $via"
		mpack build -o seven.so --via $via --check-repro
		mpack build -o seven.tar --via $via
		minspect --functions seven.so | sed -n '2,/^\//p' | grep -v '^/\|minspect run'
		minspect --functions seven.tar | grep -i entry
		minspect --run main seven.so --device cpu
		minspect --run main seven.tar --device cpu --input 1
		sed 's/ret;/ret ;/' k.ptx >k2.ptx
		mpack edit seven.so -o edited.so --replace /0=k2.ptx
		minspect --run main edited.so --device cpu
		minspect --verify edited.so
	done
done

echo '-- called main already'
sed s/seven/main/ f.c >main.c
manifest ffi main.c main >mpack.toml
mpack build -o seven.so
minspect --run main seven.so --device cpu

echo '-- refused, or said'
manifest ffi f.c eight >mpack.toml
mpack build -o seven.so
manifest ffi f.c 'no name' >mpack.toml
mpack check || echo $?
manifest ffi f.c seven >mpack.toml
mpack build -o seven.a --system-lib || echo $?
mpack build -o seven.so
sed '/^name = "seven"/s/^/base = "seven.so"\n/; s/^sources.*//' mpack.toml >base.toml
mpack check base.toml || echo $?
