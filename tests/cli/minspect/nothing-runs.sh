# a library that ends whatever loads it, by each way by which loading runs code: no action and no command does
command -v gcc >/dev/null || { echo "gcc is not installed"; exit 77; }
cat >trap.c <<'END'
#include <sys/syscall.h>
#include <unistd.h>

/* without libc, which a resolver may not call yet */
static long call(long n, long a, const void *b, long c)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}
static void ran(void)
{
	call(SYS_write, 2, "it ran\n", 7);
	call(SYS_exit_group, 99, 0, 0);
}
__attribute__((constructor)) static void constructor(void) { ran(); }
__attribute__((destructor)) static void destructor(void) { ran(); }
__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = ran;
static void *resolver(void) { ran(); return 0; }
int resolved(void) __attribute__((ifunc("resolver")));
int (*const pointer)(void) = resolved;
void _init(void) { ran(); }
int __tvm_ffi_f(void *self, const void *args, int n, void *result) { ran(); return 0; }
int __tvm_ffi_main(void *self, const void *args, int n, void *result) { ran(); return 0; }
int __tvm_ffi__metadata_f(void *self, const void *args, int n, void *result) { ran(); return 0; }
void __attribute__((visibility("default"))) get_c_metadata(void) { ran(); }
END
[ "$(uname -m)" = x86_64 ] || { echo "the trap is written for x86-64"; exit 77; }
gcc -w -O1 -g -shared -fPIC -nostartfiles -Wl,-init,_init -Wl,-z,lazy -o plain.so trap.c 2>/dev/null ||
	sed -i '/preinit_array/d' trap.c && gcc -w -O1 -g -shared -fPIC -nostartfiles -Wl,-init,_init -o plain.so trap.c
printf '[package]\nname = "p"\n[[module]]\nid = "k"\nkind = "my_runtime"\npayload = "/dev/null"\n' >p.toml
mpack build p.toml -o blob.o
gcc -w -shared -fPIC -nostartfiles -Wl,-init,_init -o trap.so trap.c blob.o
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null || : >key.pem
mkdir folder && cp trap.so plain.so folder/

# it is a trap: what loads it ends
python3 -c 'import ctypes; ctypes.CDLL("./trap.so")' 2>said && echo "the trap is none"
cat said

# tried COMMAND...
tried()
{
	status=0
	"$@" >out 2>&1 </dev/null || status=$?
	if [ $status -eq 99 ] || [ $status -ge 70 ] || grep -q 'it ran' out; then
		echo "$*: status $status: $(cat out)"
	fi
}

minspect --help=table | awk -F'\t' '$6 != "" && $2 !~ /^(run|cases|help|version|explain|devices)$/ { print $2 }' >actions
wc -l <actions | awk '{ print ($1 >= 20 ? "20 actions or more" : "few actions: " $1) }'
for file in trap.so plain.so folder; do
	tried minspect "$file"
	tried minspect -v --all "$file"
	while read -r action; do
		case $action in
		extract) tried minspect extract "out-$file" "$file" ;;
		html | header | svg) tried minspect "$action" -o "out-$file.$action" "$file" ;;
		show) tried minspect show / "$file"; tried minspect show f "$file" ;;
		disasm) tried minspect disasm f "$file" ;;
		diff) tried minspect diff plain.so "$file" ;;
		baseline) tried minspect baseline "out-$file.json" --update-baseline "$file" ;;
		dot) tried minspect dot tree "$file" ;;
		attestation) tried minspect attestation --builder urn:x "$file" ;;
		check) tried minspect check "$file"; tried minspect check --tvm 0.27 --device-arch sm_90 "$file" ;;
		*) tried minspect "$action" "$file"; tried minspect "$action" --json "$file" ;;
		esac
	done <actions
done
for file in trap.so plain.so; do
	tried mpack check "$file"
	tried mpack unpack "$file" -o "unpacked-$file"
	tried mpack init "$file"
	tried mpack edit "$file" -o "edited-$file" --replace "/0=p.toml"
	tried mpack sign "$file" -o "signed-$file" --key key.pem
	tried mpack thin "$file" -o "thin-$file" --keep sm_90 --allow-missing
	sed "s/^name.*/&\nbase = \"$file\"/" p.toml >base.toml
	tried mpack build base.toml -o "built-$file"
done
