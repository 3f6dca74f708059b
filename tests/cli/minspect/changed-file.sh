# A file that somebody else cuts or writes while it is read: the program says so, whatever it was at,
# and nothing of what it began is left. The other one is a library that is loaded before the program,
# and outside of the sandbox: in it, neither could be done.
cat >other.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
	void *p = real(at, len, prot, flags, fd, off);
	const char *cut = getenv("CUT"), *grow = getenv("GROW");
	char link[32] = "/proc/self/fd/", path[256];

	if (fd < 0 || fd > 9)
		return p;
	link[14] = (char)('0' + fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	if (cut && strstr(path, cut))
		(void)!truncate(path, 4096);
	if (grow && strstr(path, grow)) {
		int out = open(path, O_WRONLY | O_APPEND);
		(void)!write(out, "x", 1);
		close(out);
	}
	return p;
}
END
cc -shared -fPIC -o other.so other.c -ldl
head -c 300000 /dev/zero | tr '\0' ' ' >spaces
{ echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}'; cat spaces; } >long.cl
mpack edit data/formats/01_opencl_scale.so -o whole.so --replace /0=long.cl

try() {
	how=$1
	shift
	cp whole.so lib.so
	status=0
	env "$how=lib.so" LD_PRELOAD="$PWD/other.so" "$@" >said 2>&1 || status=$?
	sed "s|$PWD/||" said
	echo "$1 $2 $how: $status"
}
for how in CUT GROW; do
	try $how minspect --verify --no-sandbox lib.so
	try $how minspect --extract out --no-sandbox lib.so
	try $how mpack unpack --no-sandbox lib.so -o out
	try $how mpack edit --no-sandbox lib.so -o new.so --replace /0=long.cl
done
ls -A
