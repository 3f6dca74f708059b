# scripts/check-layers finds a breach of each kind, planted in a copy of the sources and objects
objects=$(dirname "$BIN")
command -v python3 >/dev/null && [ -e "$objects/lib/ground/base/arena.o" ] || exit 77
mkdir -p tree/out && cp -R "$ROOT/lib" "$ROOT/formats" "$ROOT/cmd" tree
find "$objects/lib" "$objects/formats" "$objects/cmd" -name '*.o' | while read -r o; do
	to=tree/out/${o#"$objects"/}
	mkdir -p "${to%/*}" && cp "$o" "$to"
done
check() { python3 "$ROOT/scripts/check-layers" --root tree out; }
check && echo sound

# plant WHAT FILE TEXT...: append a line, show what is found, take it away
plant()
{
	echo "== $1"
	cp "tree/$2" kept
	shift
	file=$1
	shift
	printf '%s\n' "$*" >>"tree/$file"
	check 2>/dev/null | sed -n '1{s|:[0-9]*:|:|;p;}' | cut -c1-150
	mv kept "tree/$file"
}
plant 'a wing upwards' lib/know/elf/reader.c '#include "runtime/runtime.h"'
plant 'pack to run' lib/pack/emit/emit.c '#include "device/device.h"'
plant 'show to pack' lib/show/size/size.c '#include "emit/emit.h"'
plant 'minspect to pack' cmd/minspect/run.c '#include "emit/emit.h"'
plant 'the same by way of mpack' cmd/minspect/run.c '#include "mpack/mpack.h"'
plant 'what both programs share to one of them' cmd/common/print.c '#include "minspect/minspect.h"'
plant 'a room upwards' lib/ground/base/arena.c '#include "text/json.h"'
plant 'run to a file format of the linker' lib/run/executor/executor.c '#include "elf/image.h"'
plant 'the same in two steps' lib/know/code/target.h '#include "elf/image.h"'
plant 'a header that is internal' lib/show/size/size.c '#include "elf/internal/'"$(basename "$(ls tree/lib/know/elf/internal/*.h | head -n 1)")"'"'
plant 'files in formats' formats/ar/read.c '#include <fcntl.h>'
plant 'print in lib' lib/show/size/size.c 'static void f(void) { printf("x"); }'
plant 'LLVM beside the plug-in' lib/pack/emit/emit.c '#include <llvm-c/Core.h>'

echo '== a call that no header tells'
echo 'int mpk_emit_parse(void); int mpk_planted(void) { return mpk_emit_parse(); }' >planted.c
sym=$(nm -g --defined-only tree/out/lib/pack/emit/emit.o | sed -n 's/.* T //p' | head -n 1)
sed -i "s/mpk_emit_parse/$sym/g" planted.c
cc -c planted.c -o tree/out/lib/run/value/value.o
check 2>/dev/null | sed -n '1{s|:[0-9]*:|:|;p;}' | cut -c1-150
cp "$objects/lib/run/value/value.o" tree/out/lib/run/value/value.o
echo '== minspect to pack, by what both programs share'
echo 'int mpk_emit_parse(void); int mpk_compiler_find(void) { return mpk_emit_parse(); }' | sed "s/mpk_emit_parse/$sym/g" >planted.c
cc -c planted.c -o tree/out/cmd/common/compiler.o
check 2>/dev/null | sed -n '/^cmd.minspect/{s|:[0-9]*:|:|;p;q;}' | cut -c1-150
cp "$objects/cmd/common/compiler.o" tree/out/cmd/common/compiler.o
echo '== a print past the escapes'
echo 'int puts(const char *); int main(void) { return puts("x"); }' >planted.c
cc -c planted.c -o tree/out/cmd/minspect/size.o
check 2>/dev/null | sed -n '1{s|:[0-9]*:|:|;p;}'
mkdir -p tree/lib/know/novel && echo '/* */' >tree/lib/know/novel/a.c
echo '== a room without a name'
check 2>/dev/null | grep novel
