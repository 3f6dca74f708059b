# libraries of nvcc for five architectures and of Clang for HIP and OpenMP: what the compilers' own tools see of them
# afterwards, what GNU's and LLVM's tools do to them, and that the dynamic loader takes them
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
for tool in "$nvcc" strip objcopy readelf; do
	command -v "$tool" >/dev/null || { echo "nvcc or binutils are not installed"; exit 77; }
done
cat >a.cu <<'END'
__global__ void KERNEL(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] += b[i];
}
extern "C" int ENTRY(float *a, float *b, int n) { KERNEL<<<1, n>>>(a, b, n); return n; }
END
# words, not one word
arch='-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90
	-gencode=arch=compute_100,code=sm_100 -gencode=arch=compute_120,code=[sm_120,compute_120]'
for i in 1 2 3; do
	mode=$(echo none speed size | cut -d ' ' -f $i)
	test $i = 3 && rdc=true || rdc=false
	# shellcheck disable=SC2086
	"$nvcc" $arch -lineinfo -rdc=$rdc --compress-mode=$mode -DKERNEL=k$i -DENTRY=e$i \
		-Xcompiler -fPIC -c a.cu -o $i.o
done
# shellcheck disable=SC2086
"$nvcc" $arch -shared 1.o 2.o 3.o -o five.so
python3 - <<'END'
import ctypes
ctypes.CDLL("./five.so")
END
check()
{
	out=$1
	shift
	mpack thin five.so -o "$out" --force "$@"
	minspect --verify "$out"
	python3 "$ROOT/tests/cli/thinned" five.so "$out" | tail -n 1
	python3 -c "import ctypes; lib = ctypes.CDLL('./$out'); assert lib.e1 and lib.e2 and lib.e3"
	test "$(wc -c <"$out")" -lt "$(wc -c <five.so)"
	if command -v eu-elflint >/dev/null; then
		eu-elflint --gnu-ld "$out" >lint || sed "s/^/$out: /" lint
	fi
	if command -v cuobjdump >/dev/null; then
		cuobjdump -all -lelf "$out" | sed -n 's/.*\.\(sm_[0-9a-z]*\)\.cubin$/\1/p' | sort | uniq -c | tr -s ' ' >theirs
		minspect --json --functions "$out" | python3 -c 'import json, sys
for c in json.load(sys.stdin)["files"][0]["device_code"]:
    print(*[i["target"] for i in c["code"]["images"] if i["kind"] == "cubin"], sep="\n")' |
			grep sm_ | sort | uniq -c | tr -s ' ' >ours
		diff theirs ours
	fi
}
check one.so --keep sm_90 --drop-relocatable
check two.so --keep sm_80,sm_120
check all.so --drop-debug --drop-relocatable
check packed.so --keep sm_75,sm_120,compute_120 --compress
check strip.so --keep sm_90 --drop-debug --compress
! mpack thin five.so -o no.so --keep sm_86 2>err || exit 1
grep -q 'sm_80 cubin alone for sm_86' err
# tools that lay a file out anew: it stays a library, with the same code
for tool in strip 'strip -g' 'objcopy --remove-section=.comment'; do
	cp one.so tool.so
	$tool tool.so
	python3 "$ROOT/tests/cli/thinned" five.so tool.so | tail -n 1
	python3 -c "import ctypes; ctypes.CDLL('./tool.so')"
	minspect --verify tool.so
done
# other linkers, other tables
for flags in -fuse-ld=lld -fuse-ld=gold -Wl,-z,noseparate-code -Wl,-z,max-page-size=0x200000 -Wl,--hash-style=sysv \
	-Wl,-z,pack-relative-relocs; do
	# a linker that is not there, or that does not know an option
	# shellcheck disable=SC2086
	"$nvcc" $arch -shared 1.o 2.o 3.o -Xcompiler "$(echo "$flags" | sed 's/,/\\,/g')" -o linked.so 2>/dev/null || continue
	mpack thin linked.so -o out.so --keep sm_90 --force
	python3 "$ROOT/tests/cli/thinned" linked.so out.so >seen
	tail -n 1 seen | grep -q 'wrappers: [1-9]' || { echo "$flags"; cat seen; }
	minspect --verify out.so | grep -v 'no errors' || true
	python3 -c "import ctypes; ctypes.CDLL('./out.so')" || echo "$flags"
done
