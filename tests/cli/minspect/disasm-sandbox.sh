# A bug in LLVM, planted: its disassembler is taken over. In the helper that calls it there are no files, no
# programs, no connections, and the memory of others is out of reach. A crash is an error of the file.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *said(int ok)
{
	return ok ? "yes" : strerror(errno);
}

size_t LLVMDisasmInstruction(void *context, uint8_t *bytes, uint64_t left, uint64_t pc, char *out, size_t room)
{
	static int step;

	(void)context, (void)bytes, (void)pc;
	if (getenv("CRASH"))
		raise(SIGSEGV);
	switch (step++) {
	case 0: snprintf(out, room, "\tread: %s", said(open("/etc/passwd", O_RDONLY) >= 0)); return 1;
	case 1: snprintf(out, room, "\twrite: %s", said(open("made", O_WRONLY | O_CREAT, 0600) >= 0)); return 1;
	case 2: snprintf(out, room, "\tconnect: %s", said(socket(AF_INET, SOCK_STREAM, 0) >= 0)); return 1;
	case 3: snprintf(out, room, "\tfork: %s", said(fork() > 0)); return 1;
	case 4: snprintf(out, room, "\texec: %s", said(execl("/bin/true", "true", NULL) == 0)); return 1;
	case 5: snprintf(out, room, "\tsignal: %s", said(kill(getppid(), 0) == 0)); return 1;
	case 6: snprintf(out, room, "\tcode: %s", said(mmap(NULL, 4096, PROT_READ | PROT_EXEC,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)); return 1;
	case 7: snprintf(out, room, "\tmemory: %s", said(malloc((size_t)2 << 30) != NULL)); return 1;
	case 8: snprintf(out, room, "\t\033[31mred\n"); return 1;
	default: return left < 64 ? left : 64;
	}
}
END
cc -shared -fPIC -o bug.so bug.c
LD_PRELOAD=$PWD/bug.so minspect --disasm add data/formats/07_relax_opencl.so | head -n 10
CRASH=1 LD_PRELOAD=$PWD/bug.so minspect --disasm add data/formats/07_relax_opencl.so || echo "status $?"
test ! -e made
