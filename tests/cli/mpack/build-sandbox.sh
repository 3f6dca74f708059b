# A bug in a reader, planted: when a library that a manifest names as its base is read, the build can write
# beside its output and nowhere else, connect nowhere and start nothing. Without the sandbox it can.
mpack --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static void say(const char *what, int ok)
{
	fprintf(stderr, "%s: %s\n", what, ok ? "yes" : strerror(errno));
}
static int run(void)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = fork();
	if (pid == 0)
		_exit(execvp("true", argv) ? 1 : 0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}
void *elf_memory(char *image, size_t size)
{
	static int once;
	void *(*real)(char *, size_t) = dlsym(RTLD_NEXT, "elf_memory");
	if (once++)
		return real(image, size);
	say("write elsewhere", open("made", O_WRONLY | O_CREAT, 0600) >= 0);
	say("remove a file", unlink("mine") == 0);
	say("connect", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	say("start a program", run());
	say("executable memory", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	return real(image, size);
}
END
cc -shared -fPIC -o bug.so bug.c -ldl
touch mine
mkdir place
mpack unpack data/formats/01_opencl_scale.so -o d 2>/dev/null
grep -q '^base' d/mpack.toml || { echo "no base"; exit 1; }
LD_PRELOAD=$PWD/bug.so mpack build d/mpack.toml -o place/out.so
ls mine place
# as without a bug, and as outside of the sandbox
mpack build d/mpack.toml -o place/plain.so
mpack build --no-sandbox d/mpack.toml -o place/free.so
cmp place/out.so place/plain.so
cmp place/out.so place/free.so
# the other kinds that take no compiler, from a manifest and from a blob
for kind in blob c; do
	mpack build d/mpack.toml -o place/out.$kind --depfile place/out.d
	mpack build place/out.blob -o place/again.$kind
done
cmp place/out.blob place/again.blob
LD_PRELOAD=$PWD/bug.so mpack build --no-sandbox d/mpack.toml -o place/out.so
ls made
