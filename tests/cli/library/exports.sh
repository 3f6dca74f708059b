# what the library exports, needs and weighs: the functions of its header, libc and libm, 640 KiB
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
for tool in nm objdump strip; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
LIMIT=640
lib=$sdk/lib/libmpk-run.so.0
sed -n '/^MPKR_API/s/(.*//p' "$ROOT/lib/mpk/run.h" | awk '{ print $NF }' | tr -d '*' | sort >header
nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 } $2 !~ /[TA]/' | sed 's/@@MPKRUN_0$//' | sort >exported
diff header exported
for archive in libmpkrun.a libmpkrun-pic.a; do
	nm -g --defined-only "$sdk/lib/$archive" | awk 'NF == 3 { print $3 }' | sort | diff header -
done
objdump -p "$lib" | awk '$1 == "SONAME" { print $2 } $1 == "NEEDED" { print $2 }' |
	grep -vE '^(libc|libm|ld-linux.*)\.so\.[0-9]+$'
# nothing that prints, asks the environment or starts processes
! nm -D --undefined-only "$lib" | grep -E ' (printf|puts|fputs|fprintf|getenv|secure_getenv|fork|execv.*|system|exit|abort|setlocale|signal|sigaction)(@|$)'
strip -o stripped "$lib"
bytes=$(wc -c <stripped)
[ "$bytes" -le $((LIMIT * 1024)) ] || echo "$bytes bytes: more than $LIMIT KiB"
# of others the archive needs nothing but libc and libm
nm -u "$sdk/lib/libmpkrun.a" | awk '$1 == "U" { print $2 }' | grep -E 'elf_|inflate|ZSTD|LZ4|json|LLVM|mpk' || :
