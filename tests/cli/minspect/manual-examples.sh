# What the manual shows is what comes out.
ln -s "$ROOT/tests" tests
export POCL_CACHE_DIR="$PWD/cache"
sed -n '/^\.Sh EXAMPLES/,$p' "$ROOT/man/minspect.1" |
awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0; next } !on { next }
	{ gsub(/\\e/, "\\") }
	/^\$ / { n++; print substr($0, 3) > ("command" n); printf "" > ("wanted" n); next }
	/^> / { print substr($0, 3) > ("command" n); next }
	held != "" { sub(/^ +/, ""); $0 = held $0; held = "" }
	/\\$/ { held = substr($0, 1, length($0) - 1); next }
	{ print > ("wanted" n) }'
n=1
while [ -e command$n ]; do
	case $(cat command$n) in
	*jq*) command -v jq >/dev/null || { n=$((n + 1)); continue; } ;;
	*--grid*) minspect --devices | grep -q '^opencl:0 ' || { n=$((n + 1)); continue; } ;;
	esac
	sh command$n >got$n 2>&1 || test $? = 1
	cmp -s wanted$n got$n || { cat command$n; diff wanted$n got$n; }
	n=$((n + 1))
done
test $n -gt 6

# the first case file of the manual, beside the array that it names
lib=data/formats/14_llvm_noblob.so
sed -n '/^\.Sh CASES/,/^\.Sh CHECKS/p' "$ROOT/man/minspect.1" |
	sed -n '/^\.Bd/,/^\.Ed/p; /^\.Ed/q' | grep -v '^\.' >cases.toml
minspect -q --run add $lib --input 16xf32=1 --input 16xf32=1 --out 16xf32 --output b.npy >b
minspect --cases cases.toml $lib >cases
test "$(tail -n 1 cases)" = "2 passed, 0 failed, 0 skipped" || cat cases
