# what a copy of the process that the called code forked comes back with is no result of the call, and a
# constructor's copy loads nothing
cat >forks.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
struct any { int type, pad; long value; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static int give(struct any *result, long value)
{
	result->type = 1;
	result->value = value;
	return 0;
}
static long loaded = 1;
#ifdef LOADS
static void __attribute__((constructor)) load(void) { if (fork() == 0) loaded = 2; else wait(0); }
#endif
FN(one) { return give(result, loaded); }
FN(first) { if (fork() == 0) return give(result, 2); wait(0); return give(result, 1); }
FN(fails) { if (fork() == 0) return -1; wait(0); return give(result, 1); }
END
cc -w -shared -fPIC -o forks.so forks.c
cc -w -shared -fPIC -DLOADS -o loads.so forks.c
for name in one first fails; do
	for lib in forks.so loads.so; do
		minspect --run $name $lib --expect 1 --repeat 3 --warmup 1 >/dev/null || echo "$lib: $name: status $?"
	done
done
cat >all.toml <<'END'
[[case]]
run = "first"
expect = ["1"]
[[case]]
run = "one"
expect = ["1"]
END
minspect --cases all.toml forks.so | sed 's/[0-9.]* m\{0,1\}s$//'
