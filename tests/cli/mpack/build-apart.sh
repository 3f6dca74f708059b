# A package is read in one process and built in another: what reaches the second is what the first has seen.
mkdir s
cat >s/@f.c <<'END_OF_C'
int __tvm_ffi_at(void *self, void *args, int n, void *out) { (void)self; (void)args; (void)n; (void)out; return 0; }
END_OF_C
sed s/_at/_minus/ <s/@f.c >s/-g.c
cat >s/p.toml <<'END_OF_TOML'
[package]
name = "p"
[[module]]
id = "host"
kind = "host"
sources = ["@f.c", "-g.c"]
imports = ["weights"]
[[module]]
id = "weights"
kind = "weights"
payload = "/dev/stdin"
END_OF_TOML
# names that a compiler would take for options; a payload on standard input, and a manifest
(cd s && echo "from standard input" | mpack build p.toml -o p.so)
minspect --functions s/p.so
minspect s/p.so --extract x >/dev/null
cat x/*weights*/*
sed 's|/dev/stdin|pipe|; s|"@f.c", "-g.c"|"s/@f.c"|' s/p.toml >pipe.toml
mkfifo pipe
(echo "from a pipe" >pipe) &
mpack build - -o q.so <pipe.toml
wait
minspect q.so --extract y >/dev/null
cat y/*weights*/*
# a blob on standard input
mpack build s/p.toml -o p.blob </dev/null
mpack build - -o r.blob <p.blob
cmp p.blob r.blob
mpack build - --via c -o r.o <p.blob
minspect --verify r.o 2>&1 | grep -v 'is unknown'

# mistakes are told by the reader, once, with its status
sed -i 's/kind = "weights"/kind = "cuda"/' s/p.toml
mpack build s/p.toml -o no.so || echo "status $?"
mpack build s/none.toml -o no.so || echo "status $?"
printf 'no blob' | mpack build - -o no.so || echo "status $?"
# and when it crashes, the builder is there to say so
cat >crash.c <<'END_OF_C'
#include <signal.h>
void *elf_memory(char *image, unsigned long size)
{
	(void)image;
	(void)size;
	raise(SIGSEGV);
	return 0;
}
END_OF_C
cc -shared -fPIC -o crash.so crash.c
cc -c s/@f.c -o f.o 2>/dev/null || cc -x c -c ./s/@f.c -o f.o
printf '[package]\nname = "o"\n[[module]]\nid = "h"\nkind = "host"\nsources = ["f.o"]\n' >o.toml
mpack build o.toml -o old.so
cp old.so before.so
LD_PRELOAD=$PWD/crash.so mpack build o.toml -o old.so || echo "status $?"
cmp old.so before.so
# what would be more than a name to make, and descriptors of others
(cd s && printf w >'a;b' && sed -i 's/kind = "cuda"/kind = "weights"/; s|/dev/stdin|a;b|' p.toml &&
	mpack build p.toml -o d.so && mpack build p.toml -o d.so --depfile d.d) || echo "status $?"
exec 7>>inherited
cat >write.c <<'END_OF_C'
#include <signal.h>
#include <unistd.h>
void *elf_memory(char *image, unsigned long size)
{
	(void)!write(7, "x", 1);
	raise(SIGKILL);
	return image;
}
END_OF_C
cc -w -shared -fPIC -o write.so write.c
LD_PRELOAD=$PWD/write.so mpack build o.toml -o old.so || echo "status $?"
test ! -s inherited
exec 7>&-
# both builds of a check read the same
mpack build s/p.toml -o twice.so --check-repro <s/@f.c
sed 's|a;b|/dev/stdin|' s/p.toml >s/stdin.toml
mpack build s/stdin.toml -o twice.so --check-repro <s/@f.c 2>err || echo "status $?"
sed "s/([0-9]* and [0-9]* bytes)/(SIZES)/" err >&2
# a pipe is written to, and not read from
mpack build s/p.toml --emit so -o /dev/stdout | cmp - s/d.so
# a key, and the library that signs, are read before the sandbox
ssh-keygen -q -t ed25519 -N '' -C '' -f key
mpack unpack data/formats/01_opencl_scale.so -o base 2>/dev/null
mpack build base/mpack.toml -o signed.so --sign key --provenance
minspect --verify --pubkey key.pub signed.so >/dev/null 2>&1 && echo signed
find . -name '.*partial'
