# scripts/check-layers finds a breach of each kind, planted in a copy of the sources and objects
objects=$(dirname "$BIN")
command -v python3 >/dev/null && [ -e "$objects/lib/ground/base/arena.o" ] || exit 77
mkdir -p tree/out && cp -R "$ROOT/lib" "$ROOT/formats" "$ROOT/cmd" tree
cp -R "$objects/lib" "$objects/formats" "$objects/cmd" tree/out
check() { python3 "$ROOT/scripts/check-layers" --root tree "$@"; }
check out && echo sound

# plant WHAT FILE TEXT: append a line; what is found of it is shown below
plant()
{
	printf '%s\n' "$3" >>"tree/$2"
	echo "$1: $2" >>planted
}
internal=$(basename "$(ls tree/lib/know/elf/internal/*.h | head -n 1)")
plant 'a wing upwards' lib/know/elf/reader.c '#include "runtime/runtime.h"'
plant 'pack to run' lib/pack/emit/emit.c '#include "device/device.h"'
plant 'show to pack' lib/show/size/size.c '#include "emit/emit.h"'
plant 'minspect to pack' cmd/minspect/size.c '#include "emit/emit.h"'
plant 'minspect to mpack' cmd/minspect/run.c '#include "mpack/mpack.h"'
plant 'mpack to run' cmd/mpack/init.c '#include "session/call.h"'
plant 'session past the library' lib/run/session/batch.c '#include "runtime/library.h"'
plant 'show past the library' lib/show/size/print.c '#include "executor/executor.h"'
plant 'common to a program' cmd/common/print.c '#include "minspect/minspect.h"'
plant 'a room upwards' lib/ground/base/arena.c '#include "text/json.h"'
plant 'an application to ELF files' lib/run/executor/executor.c '#include "elf/image.h"'
plant 'an internal header' lib/show/diff/diff.c "#include \"elf/internal/$internal\""
plant 'files in formats' formats/ar/read.c '#include <fcntl.h>'
plant 'text out of lib' lib/show/list/header.c 'static void f(void) { printf("x"); }'
plant 'LLVM beside the plug-in' lib/pack/emit/library.c '#include <llvm-c/Core.h>'
mkdir -p tree/lib/know/novel && echo '/* */' >tree/lib/know/novel/a.c
echo 'a room without a name: lib/know/novel/a.c' >>planted
check --includes >found 2>/dev/null || :
while read -r line; do
	echo "== ${line%: *}"
	grep "^${line##*: }:" found | sed -n '1{s|:[0-9]*:|:|;p;}' | cut -c1-150
done <planted

rm -rf tree/lib tree/formats tree/cmd && cp -R "$ROOT/lib" "$ROOT/formats" "$ROOT/cmd" tree
sym=$(nm -g --defined-only tree/out/lib/pack/emit/emit.o | sed -n 's/.* T //p' | head -n 1)
# object FILE FUNCTION: an object that defines it and calls what packs
object()
{
	echo "int $sym(void); int puts(const char *); int $2(void) { return $sym() + puts(\"\"); }" >planted.c
	cc -c planted.c -o "tree/out/$1"
}
object lib/run/value/value.o mpk_planted
echo 'int mpk_library_open(void); int mpk_planted_call(void) { return mpk_library_open(); }' >planted.c
cc -c planted.c -o planted.o && ld -r -o tree/merged.o tree/out/lib/run/session/batch.o planted.o &&
	mv tree/merged.o tree/out/lib/run/session/batch.o
object cmd/common/find.o mpk_compiler_find
check out >found 2>/dev/null || :
echo '== a call that no header tells'
grep '^lib/run/value/value.c:' found | sed -n '1{s|:[0-9]*:|:|;p;}'
echo '== a call past the library'
grep '^lib/run/session/batch.c:' found | sed -n '1{s|:[0-9]*:|:|;p;}'
echo '== minspect to pack, by what both programs share'
grep -c '^cmd/minspect/.*find.c -> lib/pack/emit/emit.c: minspect packs nothing' found | sed 's/[1-9][0-9]*/some/'
echo '== text past the escapes'
grep '^cmd/common/find.c.*prints' found
