# Code in isolation computes, with threads too; it reads no file, finds no expectation, starts nothing.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >spy.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
struct any { int type, pad; long value; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static int give(struct any *result, long value)
{
	result->type = 1;
	result->value = value;
	return 0;
}
static int opens(const char *path) { return open(path, O_RDONLY) >= 0; }
FN(files) { return give(result, opens("/etc/passwd") + opens("expected.npy") + opens("/proc/self/environ") + (open("new", O_WRONLY | O_CREAT, 0600) >= 0)); }
/* what can be known of files that cannot be opened */
FN(metadata)
{
	struct stat st;
	char name[64];
	return give(result, (stat("/etc/passwd", &st) == 0) + (stat("/root", &st) == 0) + (stat("spy.c", &st) == 0) +
		(readlink("/proc/self/exe", name, sizeof name) > 0) + (access("/bin/sh", F_OK) == 0));
}
FN(network) { return give(result, socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0); }
FN(process) { return give(result, fork() >= 0 || system("true") == 0); }
#ifdef RAISES
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
FN(raises) { TVMFFIErrorSetRaisedFromCStr("ValueError", "bound early"); return -1; }
#endif
static void *work(void *sum) { for (int i = 0; i < 1000; i++) __atomic_add_fetch((long *)sum, 1, __ATOMIC_RELAXED); return 0; }
FN(threads)
{
	pthread_t t[4];
	long sum = 0;
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, &sum);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	return give(result, sum);
}
/* the number that the caller expects, wherever it stands in memory */
extern char **environ;
FN(search)
{
	static const char needle[] = { '7' ^ 1, '7' ^ 1, '3' ^ 1, '1' ^ 1, '9' ^ 1, '4' ^ 1 };
	char *at = environ[0] - 200000;
	long found = 0;
	/* arguments lie below the environment, on the stack */
	at = at < (char *)&found ? (char *)&found : at;
	for (; at < environ[0]; at++) {
		unsigned i = 0;
		while (i < sizeof needle && (at[i] ^ 1) == needle[i]) i++;
		found += i == sizeof needle;
	}
	return give(result, found);
}
END
cc -w -O1 -D_GNU_SOURCE -shared -fPIC -o spy.so spy.c -pthread
echo 1 >expected.npy
for name in files network process; do
	minspect --run $name --isolate spy.so --expect 0
	minspect --run $name spy.so >/dev/null && echo "$name: called"
done
ls new 2>/dev/null && rm new
if minspect --version | grep -qx 'namespaces user, network, IPC, mount'; then
	minspect --run metadata --isolate spy.so --expect 0 >/dev/null
fi
minspect --run threads --isolate spy.so --expect 4000
# bound as some distributions link: a copy of the library is opened, and nothing else becomes visible
cc -w -O1 -D_GNU_SOURCE -shared -fPIC -Wl,-z,now -DRAISES -o now.so spy.c -pthread
minspect --run files --isolate now.so --expect 0
minspect --run threads --isolate now.so --expect 4000
minspect --run raises --isolate now.so || echo "status $?"
minspect --run search spy.so --expect 773194 >/dev/null || echo "status $?"
minspect --run search --isolate spy.so --expect 773194 || echo "status $?"
minspect --run forward --isolate data/relax/gelu.so --input @data/relax/gelu.in0.npy --expect @data/relax/gelu.out0.npy >/dev/null
minspect --run scale --isolate data/formats/01_opencl_scale.so --device opencl || echo "status $?"
minspect --run files --isolate spy.so --dump d || echo "status $?"
