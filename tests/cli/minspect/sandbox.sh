# A bug in a reader, planted: a library that is loaded before the program takes over a function of libelf
# when a file is inspected. It can open no other file, write none, connect nowhere, start nothing, make
# no memory executable and signal nobody. Without the sandbox it can.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END'
#include "planted.h"
#include <signal.h>
#include <sys/ptrace.h>

void *elf_memory(char *image, size_t size)
{
	static int once;
	void *(*real)(char *, size_t) = dlsym(RTLD_NEXT, "elf_memory");

	if (once++)
		return real(image, size);
	say("read /etc/passwd", open("/etc/passwd", O_RDONLY) >= 0);
	say("write into a folder", open("made", O_WRONLY | O_CREAT, 0600) >= 0);
	try_all();
	say("replace itself", access("/bin/true", X_OK) == 0 && execl("/bin/sh", "sh", "-c", ":", NULL) == 0);
	say("executable memory", can_execute_memory());
	say("signal its parent", kill(getppid(), 0) == 0);
	say("trace its parent", ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0);
	return real(image, size);
}
END
cc -shared -fPIC -I "$ROOT/tests/modules" -o bug.so bug.c -ldl
lib=data/formats/01_opencl_scale.so
touch mine
mkdir place
LD_PRELOAD=$PWD/bug.so minspect $lib | head -n 1
LD_PRELOAD=$PWD/bug.so minspect --extract place/files $lib >/dev/null
ls mine
LD_PRELOAD=$PWD/bug.so mpack unpack $lib -o place/out
ls mine
sed -i '/replace itself/d; /trace its/d' bug.c
cc -shared -fPIC -I "$ROOT/tests/modules" -o bug.so bug.c -ldl
LD_PRELOAD=$PWD/bug.so minspect --no-sandbox $lib >/dev/null
ls made
