# A bug in a reader, planted: a library that is loaded before the program takes over a function of libelf
# when a file is inspected. It can open no other file, write none, connect nowhere, start nothing, make
# no memory executable and signal nobody. Without the sandbox it can.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
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
	say("read /etc/passwd", open("/etc/passwd", O_RDONLY) >= 0);
	say("write into a folder", open("made", O_WRONLY | O_CREAT, 0600) >= 0);
	say("remove a file", unlink("mine") == 0);
	say("connect", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	say("start a program", run());
	say("replace itself", access("/bin/true", X_OK) == 0 && execl("/bin/sh", "sh", "-c", ":", NULL) == 0);
	say("executable memory", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	say("signal its parent", kill(getppid(), 0) == 0);
	say("trace its parent", ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0);
	return real(image, size);
}
END
cc -shared -fPIC -o bug.so bug.c -ldl
lib=data/formats/01_opencl_scale.so
touch mine
mkdir place
LD_PRELOAD=$PWD/bug.so minspect $lib | head -n 1
LD_PRELOAD=$PWD/bug.so minspect --extract place/files $lib >/dev/null
ls mine
LD_PRELOAD=$PWD/bug.so mpack unpack $lib -o place/out
ls mine
sed -i '/replace itself/d; /trace its/d' bug.c
cc -shared -fPIC -o bug.so bug.c -ldl
LD_PRELOAD=$PWD/bug.so minspect --no-sandbox $lib >/dev/null
ls made
