# What isolated cases are to give is nowhere where their code could look: not in its memory, open descriptors,
# files or in its parent. Each case has a process of its own. Without --isolate the same search finds it, but for descriptors, which no called code has.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >spy.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
struct tensor { float *data; };
struct any { int type, pad; union { long value; struct tensor *tensor; } u; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static int give(struct any *result, long value)
{
	result->type = 1;
	result->u.value = value;
	return 0;
}
/* "773194", and 0.773194f twice; neither stands in this library or its source's stack */
static int is_secret(const unsigned char *at)
{
	static const unsigned char text[] = { '7' ^ 1, '7' ^ 1, '3' ^ 1, '1' ^ 1, '9' ^ 1, '4' ^ 1 };
	static const unsigned char number[] = { 0x0b ^ 1, 0xf0 ^ 1, 0x45 ^ 1, 0x3f ^ 1 };
	unsigned i = 0;
	while (i < sizeof text && (at[i] ^ 1) == text[i]) i++;
	if (i == sizeof text) return 1;
	i = 0;
	while (i < 8 && (at[i] ^ 1) == number[i % 4]) i++;
	return i == 8;
}
static long search(const unsigned char *at, long bytes)
{
	long found = 0;
	for (long i = 0; i + 8 <= bytes; i++) found += is_secret(at + i);
	return found;
}
/* every page from libc's neighbours to the end of the stack, and the heap */
static long search_range(unsigned long from, unsigned long to)
{
	unsigned char in;
	long found = 0;
	for (unsigned long page = from & ~4095UL; page < to; page += 4096)
		if (mincore((void *)page, 4096, &in) == 0) {
			volatile int probe[2];
			/* a page that cannot be read is nobody's secret */
			if (pipe((int *)probe) == 0) {
				if (write(probe[1], (void *)page, 1) == 1) found += search((void *)page, 4096);
				close(probe[0]);
				close(probe[1]);
			}
		}
	return found;
}
extern char **environ;
FN(memory)
{
	unsigned long libc = (unsigned long)&malloc, stack = (unsigned long)environ, heap = (unsigned long)sbrk(0);
	return give(result, search_range(libc - (1UL << 30), libc + (1UL << 28)) +
		search_range(stack - (1UL << 23), stack + (1UL << 18)) + search_range(heap - (1UL << 26), heap));
}
FN(descriptors)
{
	static unsigned char bytes[1 << 16];
	long found = 0;
	for (int fd = 0; fd < 1024; fd++) {
		long n = pread(fd, bytes, sizeof bytes, 0);
		if (n > 0) found += search(bytes, n);
	}
	return give(result, found);
}
static int opens(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0) return 0;
	close(fd);
	return 1;
}
FN(files)
{
	char parent[64];
	snprintf(parent, sizeof parent, "/proc/%d/cmdline", (int)getppid());
	return give(result, opens("cases.toml") + opens("secret.npy") + opens("/proc/self/mem") + opens(parent) + opens("."));
}
FN(kept) { static long calls; return give(result, ++calls); }
FN(crash) { *(volatile int *)8 = 1; return 0; }
static struct tensor *tensor(const struct any *a) { return a->type == 7 ? a->u.tensor : (void *)((char *)a->u.tensor + 24); }
FN(fill) { for (int i = 0; i < 300000; i++) tensor(&args[0])->data[i] = args[1].u.value; return 0; }
END
cc -w -O1 -D_GNU_SOURCE -shared -fPIC -o spy.so spy.c
printf '\223NUMPY\1\0v\0%-117s\n\13\360\105\77\13\360\105\77' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" >secret.npy
cat >cases.toml <<'END'
# a comment that says 773194
[defaults]
timeout = 60
[[case]]
name = "memory, 773194"
run = "memory"
expect = ["773194"]
[[case]]
name = "a file's"
run = "memory"
expect = ["@secret.npy"]
[[case]]
name = "what it raises"
run = "memory"
raises = "773194"
[[case]]
name = "skipped, \u202e \U0001F600"
run = "memory"
skip = "773194"
[[case]]
run = "descriptors"
expect = ["773194"]
[[case]]
run = "files"
expect = ["0"]
[[case]]
run = "kept"
expect = ["1"]
[[case]]
run = "kept"
expect = ["1"]
[[case]]
run = "crash"
[[case]]
name = "large"
run = "fill"
args = [{ out = "300000xf32" }, { input = "i64=3" }]
expect = ["300000xf32=3"]
[[case]]
name = "on a device"
run = "kept"
device = "opencl:0"
END
echo isolated
minspect --cases cases.toml spy.so --isolate 9<cases.toml || echo "status $?"
echo not isolated
for name in 'memory*' "a file's" 'what*' 'descriptors*'; do
	minspect --cases cases.toml spy.so --filter "$name" 9<cases.toml | sed 's/it is i64=[1-9][0-9]*,/it is found,/'
done
# mistakes are told as ever, and nothing is called
sed 's/expect = \["0"\]/expect = ["0x"]/' cases.toml >wrong.toml
minspect --cases wrong.toml spy.so --isolate || echo "status $?"
minspect --cases cases.toml spy.so --isolate --filter none || echo "status $?"
minspect --cases missing.toml spy.so --isolate || echo "status $?"
minspect --cases cases.toml spy.so --isolate --filter 'kept*' --tap
