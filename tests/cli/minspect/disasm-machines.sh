# Objects for other machines, as llvm-objdump disassembles them; what is called has its name from the
# relocations.
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
command -v clang-19 >/dev/null || { echo "clang-19 is not installed"; exit 77; }
cat >host.c <<'END'
extern int callee(int);
static int counter;
double scaled(double x, float y) { return x * y + counter; }
int __tvm_ffi_walk(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum += callee(i) * 3;
		if (sum > 100)
			counter += callee(sum);
	}
	return sum;
}
END
rows()
{
	grep -E '^ *[0-9a-f]+:' | sed -E 's/[[:space:]]+(\/\/|#|@|;) .*$//; s/ <[^>]*>//; s/[[:space:]]+/ /g'
}
for target in x86_64-linux-gnu i386-linux-gnu aarch64-linux-gnu aarch64_be-linux-gnu armv7-linux-gnueabihf thumbv7-linux-gnueabihf \
	riscv64-linux-gnu powerpc64le-linux-gnu s390x-linux-gnu loongarch64-linux-gnu \
	arm64-apple-macos x86_64-pc-windows-msvc; do
	clang-19 --target=$target -O1 -g -fPIC -c host.c -o $target.o 2>/dev/null || clang-19 --target=$target -O1 -c host.c -o $target.o
	minspect --disasm walk $target.o >ours
	symbol=__tvm_ffi_walk
	case $target in *apple*) symbol=___tvm_ffi_walk ;; esac
	llvm-objdump-19 -d --no-show-raw-insn --disassemble-symbols=$symbol $target.o | rows >objdump
	rows <ours >rows
	# objdump ends at labels of objects, and leaves data out
	grep -v '\.byte' rows >code
	test "$(wc -l <objdump)" -gt 8
	head -n "$(wc -l <objdump)" code | cmp - objdump && echo "$target $(grep -c '<callee' ours)"
done
# a symbol that is no code
clang-19 --target=powerpc64-linux-gnu -O1 -c host.c -o opd.o
minspect --disasm walk opd.o || echo "status $?"
