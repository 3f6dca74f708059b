# Code that is called cannot stop, kill or trace the one that holds its time, nor pass for a function that
# it does not have.
minspect --version | grep -q '^sandbox.*seccomp' || { echo "no seccomp here, without which it would stop every process of the user"; exit 77; }
cat >hostile.c <<'END'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
struct any { int type, pad; long value; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static void forever(void)
{
	for (;;)
		pause();
}
FN(stop) { kill(getppid(), SIGSTOP); forever(); return 0; }
FN(stop_group) { kill(-getpgid(getppid()), SIGSTOP); forever(); return 0; }
FN(stop_all) { kill(-1, SIGSTOP); forever(); return 0; }
FN(thread) { syscall(SYS_tgkill, getppid(), getppid(), SIGKILL); forever(); return 0; }
FN(trace) { ptrace(PTRACE_ATTACH, getppid(), 0, 0); forever(); return 0; }
/* the kernel signals the owner of a descriptor when a folder is read */
FN(owner)
{
	int fd = open(".", O_RDONLY);
	DIR *d;
	fcntl(fd, F_SETSIG, SIGSTOP);
	fcntl(fd, F_SETOWN, getppid());
	fcntl(fd, F_NOTIFY, DN_ACCESS | DN_MULTISHOT);
	d = opendir(".");
	while (readdir(d))
		;
	forever();
	return 0;
}
FN(memory)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
	result->type = 1;
	result->value = open(path, O_RDWR) >= 0;
	return 0;
}
#ifdef LEAVES
__attribute__((constructor)) static void leave(void) { _exit(0); }
#endif
END
cc -w -D_GNU_SOURCE -shared -fPIC -o hostile.so hostile.c
cc -w -D_GNU_SOURCE -DLEAVES -shared -fPIC -o leaves.so hostile.c
status() { status=0; "$@" || status=$?; echo "status $status"; }
for name in stop stop_group stop_all thread trace owner; do
	status minspect --run $name --timeout 0.3 hostile.so
done
# Root may open anything.
[ "$(id -u)" = 0 ] || minspect --run memory hostile.so --expect 0 >/dev/null
status minspect --run stop leaves.so --expect 0
