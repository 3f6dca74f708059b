# libraries of Clang, for HIP and OpenMP: what LLVM's tools see of them afterwards
for tool in clang-19 llvm-objdump-19 clang-offload-bundler-19 ld.lld-19 llvm-objcopy-19; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
wrapper=$(dirname "$(readlink -f "$(command -v clang-19)")")/clang-linker-wrapper
test -x "$wrapper" || { echo "clang-linker-wrapper is not installed"; exit 77; }
for target in x86_64-linux-gnu aarch64-linux-gnu; do
	for mode in '' --offload-compress; do
		for name in first second; do
			# shellcheck disable=SC2086
			clang-19 -x hip --target=$target $mode --offload-arch=gfx90a:xnack+ --offload-arch=gfx1100 --offload-arch=gfx906 \
				-nogpulib -nogpuinc -O2 -fPIC -c data/gpu/$name.hip -o $name.o
		done
		# LLVM 19 unpacks no bundle that another one follows
		test "$mode" && more='' || more=second.o
		# shellcheck disable=SC2086
		ld.lld-19 -shared first.o $more -o hip.so
		for keep in gfx906 gfx90a,gfx1100; do
			mpack thin hip.so -o out.so --keep $keep --force
			minspect --verify out.so
			python3 "$ROOT/tests/cli/thinned" hip.so out.so | tail -n 1
			llvm-objcopy-19 --dump-section=.hip_fatbin=section.bin out.so copy.so
			clang-offload-bundler-19 --list --type=o --input=section.bin
			for id in $(clang-offload-bundler-19 --list --type=o --input=section.bin | grep gfx); do
				for when in before after; do
					test $when = after || llvm-objcopy-19 --dump-section=.hip_fatbin=section.bin hip.so copy.so
					test $when = before || llvm-objcopy-19 --dump-section=.hip_fatbin=section.bin out.so copy.so
					clang-offload-bundler-19 --unbundle --type=o --targets="$id" --input=section.bin --output=$when.hsaco
				done
				cmp before.hsaco after.hsaco
			done
		done
	done
done
# OpenMP: beginnings and ends of images in tables of the host, in LLVM's own format
cat >f.c <<'END'
int f(int n, int *a)
{
#pragma omp target map(tofrom : a[0 : n])
	for (int i = 0; i < n; i++)
		a[i] += i;
	return n;
}
END
cat >stub.c <<'END'
#pragma omp begin declare target device_type(nohost)
int __kmpc_target_init(void *a, void *b) { return -1; }
void __kmpc_target_deinit(void) {}
int __kmpc_get_hardware_thread_id_in_block(void) { return 0; }
void __kmpc_barrier_simple_spmd(void *a, int b) {}
#pragma omp end declare target
END
for name in f stub; do
	clang-19 -w -fopenmp -O1 -fPIC --offload-arch=gfx906 --offload-arch=gfx90a --offload-arch=gfx1100 -nogpulib -c $name.c -o $name.o
done
"$wrapper" --host-triple=x86_64-unknown-linux-gnu --linker-path="$(command -v ld)" -shared f.o stub.o -o omp.so
llvm-objdump-19 --offloading omp.so | grep arch
mpack thin omp.so -o out.so --keep gfx90a
llvm-objdump-19 --offloading out.so | grep arch
minspect --verify out.so
mpack thin omp.so -o none.so --keep gfx90a,gfx942 2>&1 || echo $?
# each pair of words is an image, or nothing where it was taken out
python3 - <<'END'
import os, struct, sys
sys.argv = ["", "omp.so", "out.so"]
path = os.path.join(os.environ["ROOT"], "tests/cli/thinned")
exec(compile(open(path).read().split("old, new =")[0], path, "exec"))
for name in ("omp.so", "out.so"):
    file = File(name)
    pointers = file.pointers()
    for at in sorted(pointers):
        begin, end = pointers[at], pointers.get(at + 8)
        if end is not None and begin <= end and (file.loaded(begin, 4) == b"\x7fELF" or begin == end):
            print(name, file.loaded(begin, end - begin)[:4], end > begin)
END
