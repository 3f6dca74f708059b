# A private key of --sign is in the memory of the process that signs and of no other: each process that mpack forks looks
# through all of its memory for the seed and for the text of the key's file, as the one that has LLVM does before and
# after it compiles. The process that forks them has the seed: so the search finds what is there.
command -v openssl >/dev/null || { echo "openssl is not installed"; exit 77; }
cat >search.c <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is looked for, changed, so that the search does not find itself. */
enum { MASK = 0x55, BYTES = 32 };
static unsigned char wanted[2][BYTES];
static char maps[1 << 18];

static int is_at(const unsigned char *p, const unsigned char *what)
{
	for (int i = 0; i < BYTES; i++)
		if ((p[i] ^ MASK) != what[i])
			return 0;
	return 1;
}

static void search(const char *who)
{
	char text[100];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), found[2] = { 0 };
	size_t len = 0;
	ssize_t n;

	if (fd < 0) {
		(void)!write(2, text, (size_t)sprintf(text, "%s: cannot look\n", who));
		return;
	}
	while ((n = read(fd, maps + len, sizeof maps - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	maps[len] = 0;
	for (char *line = maps; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		unsigned char *from, *to;
		char mode[5], *end = strchr(line, '\n');
		int is_special = end && memmem(line, (size_t)(end - line), "[v", 2) != NULL;

		if (sscanf(line, "%p-%p %4s", (void **)&from, (void **)&to, mode) != 3 || mode[0] != 'r' || is_special)
			continue;
		for (unsigned char *p = from; p + BYTES <= to; p++)
			for (int k = 0; k < 2; k++)
				if ((*p ^ MASK) == wanted[k][0] && is_at(p, wanted[k]))
					found[k]++;
	}
	(void)!write(2, text, (size_t)sprintf(text, "-- %s: %s, %s\n", who, found[0] ? "the seed" : "no seed",
					      found[1] ? "the file" : "no file"));
}

static void before(void) { search("forks"); }
static void in_child(void) { search("forked"); }

__attribute__((constructor)) static void begin(void)
{
	const char *hex = getenv("WANTED");

	for (int k = 0; hex && k < 2; k++)
		for (int i = 0; i < BYTES; i++) {
			unsigned v;
			sscanf(hex + 2 * (BYTES * k + i), "%2x", &v);
			wanted[k][i] = (unsigned char)v;
		}
	if (hex)
		pthread_atfork(before, NULL, in_child);
}

void *dlopen(const char *name, int flags)
{
	void *(*real)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
	void *handle;

	if (!name || !strstr(name, "/llvm.so"))
		return real(name, flags);
	search("LLVM opens");
	handle = real(name, flags);
	search("LLVM is open");
	return handle;
}
END_OF_C
cc -w -O2 -shared -fPIC -o search.so search.c -ldl -lpthread
cat >f.ll <<'END_OF_IR'
define i32 @__tvm_ffi_f(ptr %s, ptr %a, i32 %n, ptr %o) {
  ret i32 0
}
END_OF_IR
cat >mpack.toml <<'END_OF_TOML'
[package]
name = "p"
[[module]]
id = "host"
kind = "host"
sources = ["f.ll"]
END_OF_TOML
mpack build mpack.toml -o plain.so || { echo "mpack has no LLVM here"; exit 77; }

# search_for KEY: what is looked for is the seed, and a line of the file
search_for()
{
	WANTED=$(python3 - "$1" <<'END_OF_PYTHON'
import base64, sys
text = open(sys.argv[1]).read()
lines = text.splitlines()
raw = base64.b64decode("".join(lines[1:-1]))
# PKCS #8 ends with the seed; OpenSSH's form has it before the public key's second copy
seed = raw[-32:] if "OPENSSH" not in lines[0] else raw[raw.index(b"\0\0\0\x40") + 4:][:32]
line = lines[1][16:48] if "OPENSSH" not in lines[0] else lines[3][:32]
print(bytes(b ^ 0x55 for b in seed + line.encode()).hex())
END_OF_PYTHON
)
	export WANTED
}

openssl genpkey -algorithm ed25519 -out key.pem
openssl pkey -in key.pem -pubout -out key.pub
keys=key.pem
if command -v ssh-keygen >/dev/null; then
	ssh-keygen -q -t ed25519 -N '' -C me -f ssh
	keys="$keys ssh"
fi
for key in $keys; do
	search_for $key
	LD_PRELOAD=$PWD/search.so mpack build mpack.toml -o signed.so --sign $key 2>log || cat log
	unset WANTED
	# who has the key forks; nobody who was forked has it
	grep '^-- forks: the seed' log | sort -u | sed 's/, .*//'
	grep '^-- forked' log | sort -u
	grep '^-- LLVM' log | sort -u
done
minspect --verify --pubkey key.pub signed.so >/dev/null 2>&1 || test $? = 1
