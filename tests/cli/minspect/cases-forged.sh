# What called code writes where its process reports: it can lie about its own call, which fails or times out
# in any case here, and about no other. The cases behind it are judged as if nothing had happened.
cat >liar.c <<'END'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
struct tensor { float *data; };
struct any { int type, pad; union { long value; struct tensor *tensor; } u; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
enum { LOADED, RETURNED, FAILED, AGAIN };
struct report { uint32_t kind, item, ends, pad; uint64_t bytes; };
static int channel(void)
{
	for (int fd = 3; fd < 64; fd++) {
		int type = 0;
		socklen_t len = sizeof type;
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET)
			return fd;
	}
	abort();
}
static int reply(void)
{
	for (int fd = 3; fd < 64; fd++) {
		char link[64], name[256] = "";
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		if (readlink(link, name, sizeof name - 1) > 0 && strstr(name, "minspect-reply"))
			return fd;
	}
	abort();
}
static void say(struct report r) { (void)!write(channel(), &r, sizeof r); }
static void forever(void) { for (;;) pause(); }
FN(next_item) { say((struct report){ RETURNED, args[0].u.value + 1 }); forever(); return 0; }
FN(loaded_again) { say((struct report){ LOADED, args[0].u.value }); forever(); return 0; }
FN(again) { say((struct report){ AGAIN, args[0].u.value }); forever(); return 0; }
FN(no_kind) { say((struct report){ 77, args[0].u.value }); forever(); return 0; }
FN(no_error) { say((struct report){ FAILED, args[0].u.value, 0, 0, 8 }); forever(); return 0; }
FN(huge) { say((struct report){ RETURNED, args[0].u.value, 0, 0, UINT64_MAX }); forever(); return 0; }
FN(sparse)
{
	(void)!ftruncate(reply(), 1L << 44);
	say((struct report){ RETURNED, args[0].u.value, 0, 0, 1L << 44 });
	forever();
	return 0;
}
FN(flood)
{
	static char bytes[1 << 16];
	for (long i = 0; i < (1L << 30) / (long)sizeof bytes; i++)
		(void)!write(channel(), bytes, sizeof bytes);
	forever();
	return 0;
}
FN(slow)
{
	for (;; sleep(1))
		(void)!write(channel(), "x", 1);
}
FN(shut) { shutdown(channel(), SHUT_RDWR); forever(); return 0; }
/* everything that it shares with its parent */
FN(scribble)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], perms[8];
	unsigned long from, to;
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 && perms[1] == 'w' && perms[3] == 's')
			memset((void *)from, 0x7f, to - from);
	forever();
	return 0;
}
FN(ok) { result->type = 1; result->u.value = 7; return 0; }
/* leaves a wrong result; the next call puts it right */
static struct { float *data; } *kept;
static struct tensor *tensor(const struct any *a) { return a->type == 7 ? a->u.tensor : (void *)((char *)a->u.tensor + 24); }
FN(wrong) { tensor(&args[0])->data[0] = 1; kept = (void *)tensor(&args[0]); kept = memcpy(malloc(8), kept, 8); return 0; }
FN(put_right) { kept->data[0] = 2; tensor(&args[0])->data[0] = 2; return 0; }
/* a result, and no call */
#ifdef LEAVES
__attribute__((constructor)) static void leave(void)
{
	char bytes[4096] = { 0 };
	(void)!pwrite(reply(), bytes, sizeof bytes, 0);
	say((struct report){ RETURNED, 0, 0, 0, sizeof bytes });
	_exit(0);
}
#endif
END
cc -w -shared -fPIC -o liar.so liar.c
cc -w -DLEAVES -shared -fPIC -o leaves.so liar.c
# A case's number is that of its order.
n=0
for name in next_item loaded_again again no_kind no_error huge sparse flood slow shut scribble; do
	printf '[[case]]\nname = "%s"\nrun = "%s"\nargs = [{ input = "i64=%s" }]\ntimeout = 2\n' $name $name $n
	printf '[[case]]\nname = "behind %s"\nrun = "ok"\nexpect = ["7"]\n' $name
	n=$((n + 2))
done >cases.toml
minspect --cases cases.toml liar.so || echo "status $?"
# large outputs are shared, small ones are not
for shape in 1 262144; do
	cat >late.toml <<-END
	[[case]]
	name = "$shape wrong"
	run = "wrong"
	args = [{ out = "${shape}xf32" }]
	expect = ["${shape}xf32=2"]
	atol = 0
	[[case]]
	name = "$shape put right"
	run = "put_right"
	args = [{ out = "${shape}xf32" }]
	END
	minspect --cases late.toml liar.so | head -n 2
done
status=0
minspect --run ok leaves.so || status=$?
echo "status $status"
