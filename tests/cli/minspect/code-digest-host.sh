# host code is the same where it lies elsewhere, and other code where it does something else; x86-64 and AArch64
cat >f.c <<'END'
#define STRING(x) #x
#define STRING_OF(x) STRING(x)
extern int puts(const char *);
static int last;
static const int table[40] = {1, 2, 3, ENTRY};
__attribute__((noinline)) static int inner(int x) { return x * INNER + (last += 3); }
int __tvm_ffi_first(void *self, const int *args, int count, int *result)
{
	puts(STRING_OF(TEXT));
	*result = table[args[0]] + VALUE;
	return inner(count);
}
int __tvm_ffi_second(void *self, const int *args, int count, int *result)
{
	return count > 3 ? inner(count) : CALLED(self, args, count, result);
}
END
change()
{
	name=$1
	shift
	case $name in
	value) $compiler $plain -UVALUE -DVALUE=8 "$@" -o other.so f.c ;;
	entry) $compiler $plain -UENTRY -DENTRY=10 "$@" -o other.so f.c ;;
	inner) $compiler $plain -UINNER -DINNER=6 "$@" -o other.so f.c ;;
	text) $compiler $plain -UTEXT -DTEXT=other_text "$@" -o other.so f.c ;;
	callee) $compiler $plain -UCALLED -DCALLED=__tvm_ffi_second "$@" -o other.so f.c ;;
	import) $compiler $plain -Dputs=perror "$@" -o other.so f.c ;;
	esac
}
plain='-O1 -fPIC -shared -nostdlib -DVALUE=7 -DENTRY=9 -DINNER=5 -DTEXT=a_text -DCALLED=__tvm_ffi_first'
for compiler in gcc aarch64-linux-gnu-gcc; do
	command -v $compiler >/dev/null || { echo "$compiler is not installed"; exit 77; }
	$compiler $plain -o plain.so f.c
	$compiler $plain -g -Wl,-z,noseparate-code,--build-id=none -o moved.so f.c
	$compiler $plain -Wl,-Ttext-segment=0x200000,-z,max-page-size=0x10000 -o elsewhere.so f.c
	for other in moved elsewhere; do
		echo "$compiler $(minspect --diff plain.so --ignore=noise $other.so)"
	done
	for what in value entry inner text callee import; do
		change $what
		echo "$what: $(minspect --diff plain.so --ignore=noise other.so | paste -sd' ')"
	done
done
