# what called code finds in its process: descriptors, environment, shared memory, limits, also with --isolate; nothing of it
# was its caller's but the environment, its limits and the file that is called
cat >inside.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { int type, pad; long v; } any;
extern char **environ;

static void descriptors(void)
{
	for (int i = 0; i < 4096; i++) {
		struct stat s;

		if (fcntl(i, F_GETFD) < 0 || fstat(i, &s) != 0)
			continue;
		printf("descriptor%s: %s%s\n", i > 2 ? "" : i == 0 ? " 0" : i == 1 ? " 1" : " 2",
		       S_ISCHR(s.st_mode)  ? "device" :
		       S_ISFIFO(s.st_mode) ? "pipe" :
		       S_ISSOCK(s.st_mode) ? "socket" :
		       S_ISDIR(s.st_mode)  ? "folder" :
		       s.st_nlink == 0	   ? "memory" :
					     "file",
		       (fcntl(i, F_GETFL) & O_ACCMODE) == O_RDONLY ? ", read" : "");
	}
}

static void shared(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof line, f))
		if (strchr(line, ' ') && strchr(line, ' ')[4] == 's')
			printf("shared: %s", strchr(line, '/') ? strchr(line, '/') : "memory\n");
	if (f)
		fclose(f);
}

static void limits(void)
{
	static const struct { int what; const char *name; } all[] = {
		{ RLIMIT_CPU, "cpu" }, { RLIMIT_DATA, "data" }, { RLIMIT_AS, "address space" }, { RLIMIT_CORE, "core" },
		{ RLIMIT_NOFILE, "files" }, { RLIMIT_FSIZE, "size of files" }, { RLIMIT_STACK, "stack" } };
	const char *before = getenv("LIMITS");
	struct rlimit l;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		unsigned long long was = strtoull(before, (char **)&before, 10);

		getrlimit(all[i].what, &l);
		if (l.rlim_cur == was)
			printf("limit of %s: the caller's\n", all[i].name);
		else
			printf("limit of %s: another one\n", all[i].name);
	}
}

int __tvm_ffi_inside(void *h, const any *a, int n, any *r)
{
	(void)h, (void)a, (void)n;
	descriptors();
	for (char **e = environ; *e; e++)
		printf("environment: %.*s\n", (int)strcspn(*e, "="), *e);
	shared();
	limits();
	fflush(stdout);
	r->type = 1;
	r->v = 1;
	return 0;
}
C
cc -w -shared -fPIC -o inside.so inside.c
echo secret >secret
minspect=$(command -v minspect)
# the caller's limits are handed on, those of an inspection are not
# shellcheck disable=SC3045
ulimit -n 512
cat >open.py <<'PY'
import os, resource, sys

for number, (path, how) in {3: ("secret", os.O_RDONLY), 9: ("/proc", os.O_RDONLY), 11: ("inside.so", os.O_RDONLY),
                            12: ("secret", os.O_WRONLY), 200: (".", os.O_RDONLY)}.items():
    os.dup2(os.open(path, how), number)
LIMITS = [resource.getrlimit(getattr(resource, "RLIMIT_" + n))[0] % 2**64 for n in "CPU DATA AS CORE NOFILE FSIZE STACK".split()]
os.execve(sys.argv[1], sys.argv[1:], {"A": "1", "PATH": os.environ["PATH"], "LIMITS": " ".join(map(str, LIMITS))})
PY
look() {
	python3 open.py "$@" 2>out >/dev/null || cat out
	sed 's/minspect-reply (deleted)/the reply/; s/\/memfd:/memory, /' out | sort | uniq -c
}
look "$minspect" run inside inside.so
echo "isolated:"
look "$minspect" run inside --isolate --timeout 10 inside.so
# what is named by the number of a descriptor is read through it
look "$minspect" run inside /dev/fd/11 | grep descriptor
# without the call that closes many: one after the other
cat >old.c <<'C'
#include <errno.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter code[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
				      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
				      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 4, code };

	(void)argc;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 99;
	execvp(argv[1], argv + 1);
	return 98;
}
C
cc -o old old.c
echo "an old kernel:"
look ./old "$minspect" run inside inside.so | grep descriptor
