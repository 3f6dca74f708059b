# Called code has a pipe and not what the user prints into: it cannot cut, rewind or overwrite a log, nor let it not
# wait. What it prints arrives whole and in order; of isolated code with a limit and without commands to terminals.
cat >prints.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
FN(erases)
{
	long done = 0;
	char byte;
	for (int fd = 1; fd < 3; fd++) {
		done += ftruncate(fd, 0) == 0;
		done += lseek(fd, 0, SEEK_SET) == 0;
		done += fchmod(fd, 0) == 0 && 0;
		fcntl(fd, F_SETFL, O_NONBLOCK);
		done += fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 100) == 0;
	}
	fprintf(stderr, "was here\n");
	return give(result, done + (read(0, &byte, 1) > 0));
}
FN(floods) { for (int i = 0; i < 40000; i++) fprintf(stderr, "line %06d of what is printed and counted\n", i); return give(result, 0); }
FN(crashes) { printf("before the crash\n"); abort(); }
FN(commands) { fprintf(stderr, "\033]0;title\007 \033[2J\ttext \303\244\n"); return give(result, 0); }
FN(fills) { static char page[1 << 16]; memset(page, 'x', sizeof page); page[sizeof page - 1] = '\n'; for (int i = 0; i < 400; i++) (void)!write(2, page, sizeof page); return give(result, 0); }
FN(forever) { static char page[1 << 16]; memset(page, 'x', sizeof page); for (;;) (void)!write(2, page, sizeof page); }
END
cc -w -shared -fPIC -o prints.so prints.c
isolate=
! minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' || isolate=--isolate
for how in '' $isolate; do
	echo "earlier" >log
	minspect --run erases $how prints.so --expect 0 >>log 2>&1 <prints.c
	echo "later" >>log
	cat log
	minspect --run floods $how prints.so 2>&1 >/dev/null | cksum
	minspect --run crashes $how prints.so 2>&1 || :
	minspect --run forever $how --timeout 0.5 prints.so 2>&1 >/dev/null | tail -n 1 | sed 's/x*//;s/.*left out.//'
	# nobody reads any more
	minspect --run floods $how prints.so 2>&1 >result | head -n 1
	cat result
done
minspect --run commands prints.so 2>&1 | od -c | head -n 1
[ -z "$isolate" ] || minspect --run commands --isolate prints.so >error 2>&1
[ -z "$isolate" ] || cat error
[ -z "$isolate" ] || minspect --run fills --isolate prints.so 2>error
[ -z "$isolate" ] || { tail -n 1 error; tr -d x <error | wc -c; tr -dc x <error | wc -c; }
