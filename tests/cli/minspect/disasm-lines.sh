# Source lines, from every version of DWARF, as llvm-objdump -l tells them.
command -v llvm-objdump-19 >/dev/null || { echo "llvm-objdump-19 is not installed"; exit 77; }
mkdir -p src/inner
cat >src/inner/twice.h <<'END'
static inline int twice(int x)
{
	return x > 3 ? 2 * x
		     : x;
}
END
cat >src/host.c <<'END'
#include "inner/twice.h"

int other(int x);
int __tvm_ffi_walk(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += twice(i) +
		       other(i);
	return sum;
}
END
for version in 2 3 4 5; do
	cc -shared -fPIC -O1 -gdwarf-$version -o walk.so src/host.c
	minspect --disasm walk walk.so | grep -E '^(; |  )' | sed -E 's/[[:space:]]+(<|#).*//; s/[[:space:]]+/ /g; s/; .*src/; src/' >ours
	llvm-objdump-19 -d -l --no-show-raw-insn --print-imm-hex --disassemble-symbols=__tvm_ffi_walk walk.so |
		grep -E '^(; .*:[0-9]+|  )' | sed -E 's/[[:space:]]+(<|#).*//; s/[[:space:]]+/ /g; s/; .*src/; src/' >objdump
	diff ours objdump | head -n 4
	echo "$version: $(grep -c '^; .*host.c:' ours) $(grep -c '^; .*inner/twice.h:' ours)"
done
minspect --json --disasm walk walk.so | jq -r '[.. | .source? // empty][0]' | sed 's/.*src/src/'
# names of the debug information are as hostile as any
sed 's/twice\.h/twi\x1b[.h/g' walk.so >hostile.so
minspect --disasm walk hostile.so | grep -c 'twi\\x1b\[.h'
# and what has none is listed without
strip --strip-debug -o packed.so walk.so
minspect --disasm walk packed.so | grep -c '^; ' || true
