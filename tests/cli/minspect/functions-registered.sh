# Global functions that a library registers by tvm-ffi's C API from its initializers, as far as its code tells: not what a
# condition guards, what is computed, and what no initializer comes to
export LC_ALL=C
machine=$(uname -m)
case $machine in
x86_64 | aarch64) ;;
*) echo "no code of $machine is searched"; exit 77 ;;
esac
cat >code.c <<'END'
#define OUT __attribute__((noinline))
typedef struct { const char *data; unsigned long size; } text;
struct info { text name, doc; };
extern int TVMFFIFunctionSetGlobal(const text *, void *, int);
extern int TVMFFIFunctionSetGlobalFromMethodInfo(const struct info *, int);
extern int TVMFuncRegisterGlobal(const char *, void *, int);
extern char *getenv(const char *);
extern unsigned long strlen(const char *);
extern void abort(void) __attribute__((noreturn));
static int twice;
static OUT void must(int code) { if (code) abort(); }
static OUT void define(const char *name, const char *doc) {
	struct info i = { { name, strlen(name) }, { doc, doc ? strlen(doc) : 0 } };
	must(TVMFFIFunctionSetGlobalFromMethodInfo(&i, 0));
}
static OUT void define_twice(const char *doc, const char *name) { define(name, doc); }
__attribute__((constructor)) static void first(void) {
	text t = { "shop.cut, the rest", 8 };
	define("shop.twice", "shop.no_name");
	define_twice("shop.no_name_either", "shop.a_name_with_more_than_fifteen");
	must(TVMFFIFunctionSetGlobal(&t, &twice, 0));
	must(TVMFuncRegisterGlobal("shop.old", &twice, 1));
}
#ifdef MORE
__attribute__((constructor)) static void more(void) {
	static const char *const names[] = { "shop.table0", "shop.table1" };
	if (getenv("SHOP")) define("shop.guarded", 0);
	for (int i = 0; i < 2; i++) define(names[i], 0);
	define(getenv("SHOP") ? "shop.either" : "shop.or", 0);
}
#endif
void later(void) { define("shop.later", 0); }
END
for level in 0 1 2 3 s; do
	cc -O$level -shared -fPIC -nostdlib code.c -o shop$level.so
	minspect functions shop$level.so
done
for level in 0 2; do
	cc -O$level -DMORE -shared -fPIC -nostdlib code.c -o shop.so
	minspect functions shop.so
done
strip shop.so
minspect shop.so | sed "s/.*library, .*/(a library)/"
minspect --json shop.so | sed -n '/"registered"/,/registered_more/p'
minspect functions --filter '*.twice' shop.so
for i in 1 2 3 4 5 6 7 8; do printf '#define D%s(n) D%s(n "0") D%s(n "1")\n' $i $((i - 1)) $((i - 1)); done >many.h
cat >many.c <<'END'
extern int TVMFuncRegisterGlobal(const char *, void *, int);
#define D0(n) TVMFuncRegisterGlobal("many." n, 0, 1);
#include "many.h"
__attribute__((constructor)) static void all(void) { D8("") }
END
cc -O2 -shared -fPIC -nostdlib many.c -o many.so
minspect functions many.so
minspect functions --all many.so | tail -n 1
