# texts that a library's getters give about its functions: constants are read, what is made at run time is asked for
cat >lib.c <<'END'
#include <stdint.h>
#include <string.h>
typedef struct { const char *data; size_t size; } bytes;
extern int TVMFFIStringFromByteArray(const bytes *in, void *out);
extern int TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
#define FN(name) __attribute__((visibility("default"))) int __tvm_ffi_##name(void *self, const void *args, int32_t n, void *out)
static int give(const char *text, void *out)
{
	bytes b = { text, strlen(text) };
	return TVMFFIStringFromByteArray(&b, out) ? TVMFFIErrorSetRaisedFromCStr("InternalError", "no memory") : 0;
}
#define TYPES(ret, ...) "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{\\\"return\\\":[" ret "],\\\"params\\\":[" __VA_ARGS__ "]}}\"}"
#define T(name) "{\\\"type\\\":\\\"" name "\\\"}"
FN(told) { return 0; }
FN(_metadata_told) { return give(TYPES(T("int"), T("int") "," T("float") "," T("bool")), out); }
FN(_doc_told) { return give("Adds.\n\nTwo \"numbers\", and a\tflag.", out); }
FN(made) { return 0; }
FN(_metadata_made)
{
	char text[400];
	strcpy(text, "{\"type_sch");
	strcat(text, "ema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[");
	strcat(text, "{\\\"type\\\":\\\"None\\\"},{\\\"type\\\":\\\"ffi.Tensor\\\"},{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[{\\\"type\\\":\\\"ffi.Tensor\\\"}]},{\\\"type\\\":\\\"DLTensor*\\\"}]}\"}");
	return give(text, out);
}
FN(_doc_made) { char text[8] = "made"; text[4] = 0; return give(text, out); }
FN(crashes) { return 0; }
FN(_metadata_crashes) { return *(volatile int *)0; }
FN(broken) { return 0; }
FN(_metadata_broken) { return give("{\"type_schema\":17}", out); }
FN(_metadata_nobody) { return give(TYPES(T("int"), ), out); }
const char *const lost = TYPES(T("None"), T("ffi.String"));
END
for level in 0 2; do
	cc -shared -fPIC -O$level -o lib.so lib.c
	strip lib.so
	echo "== -O$level"
	minspect --functions -v lib.so
done
echo "== asked"
minspect --functions -v --call-metadata lib.so
minspect --functions --json lib.so | grep -E '"(doc|unassigned_metadata)"'
minspect --header - lib.so | grep -A 1 'told_call'
# it says what it runs, and only where it is asked to
minspect --call-metadata lib.so || echo "status $?"
sed 's/^FN(told)/extern int nowhere(void); int use(void) { return nowhere(); }\n&/' lib.c | cc -shared -fPIC -o unresolved.so -x c -
minspect --functions --call-metadata unresolved.so >out || echo "status $?"
minspect --functions unresolved.so | sed -n 2,4p
# numbers in names are in their order
printf 'int __tvm_ffi_layer10(void) { return 0; }\nint __tvm_ffi_layer2(void) { return 0; }\n' | cc -shared -fPIC -o natural.so -x c -
minspect natural.so | grep functions
# of standalone libraries it is in a table, and the types are told in another way
mpack build data/launch/standalone.toml -o standalone.so
minspect --functions standalone.so | sed -n '2,4p; /metadata/p'
minspect --functions --json standalone.so | grep metadata || true
