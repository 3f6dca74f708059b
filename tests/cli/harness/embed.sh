# scripts/check-layers finds what an application that embeds models must not get, planted among the objects
objects=$(dirname "$BIN")
command -v python3 >/dev/null && [ -e "$objects/lib/ground/base/arena.o" ] || exit 77
mkdir -p tree/out && cp -R "$ROOT/lib" "$ROOT/formats" "$ROOT/cmd" tree
cp -R "$objects/lib" "$objects/formats" tree/out
check() { python3 "$ROOT/scripts/check-layers" --root tree out >found 2>/dev/null; }
check && echo sound

# plant WHAT OBJECT FUNCTION: the object now calls it; what is found of that is shown below
plant()
{
	echo "int $3(); int planted_$3(void) { return $3(1, \"\", 0); }" >planted.c
	cc -w -ffreestanding -fno-builtin -c planted.c -o planted.o
	ld -r -o merged.o "tree/out/$2.o" planted.o && mv merged.o "tree/out/$2.o"
	echo "$1: $2 $3" >>planted
}
plant 'the environment' lib/run/executor/machine getenv
plant 'its next of kin' lib/run/runtime/node secure_getenv
plant 'output' lib/run/abi/convention puts
plant 'output, as compilers check it' lib/run/device/cpu __printf_chk
plant 'a process, in what is called' lib/ground/base/arena popen
plant 'a signal' lib/run/executor/relax/interp sigaction
plant 'a locale' formats/wire setlocale
plant 'a library' formats/ptx/read inflateEnd
plant 'the table of all formats' lib/run/device/cuda mpk_code_format_of
plant 'another room' formats/blob/read mpk_image_open
plant 'what no application links' lib/run/session/call clearenv
check || :
while read -r line; do
	rest=${line##*: } call=${line##* }
	case $call in
	mpk_code_format_of) what='lib/know/code/formats.c:' ;;
	mpk_image_open) what='lib/know/elf/image.c:' ;;
	*) what="${rest%% *}.c:.*has no ${call#__}" ;;
	esac
	echo "== ${line%: *}"
	grep "^${what%_chk}" found | grep 'an application links it' | sed -n '1{s| *[:,] [^ ]* -> .*||;s| by .*||;p;}'
done <planted
