# modules are the same wherever they stand: by content, then by what they define, then by path
# what is told of instructions depends on what is installed: minspect/diff-sass has that
mkdir -p cuda/bin
printf '#!/bin/sh\necho "a stand-in" >&2; exit 1\n' >cuda/bin/nvdisasm
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
cat >blur.cl <<'END'
static float half_of(float v) { return v / 2; }
__kernel void blur3(__global float *a, __global float *b, int n)
{
	int i = get_global_id(0);
	if (i < n)
		b[i] = half_of(a[i]);
}
END
cat >two.cl <<'END'
__kernel void clampi(__global int *a, int n) { int i = get_global_id(0); if (i < n) a[i] = min(a[i], n); }
__kernel void mix16(__global int *a, int n) { int i = get_global_id(0); if (i < n) a[i] ^= a[i] >> 16; }
END
sed 's/v \/ 2/v * 0.5f/' blur.cl >softer.cl
sed '/mix16/d' two.cl >one.cl
cp data/device/two.ptx code.ptx
printf 'net' >net.bin
row() # NAME ARGS
{
	printf 'function = [{ name = "%s", args = [%s], launch = ["blockIdx.x"] }]\n' "$1" "$2"
}
# make NAME FILE...: a root that imports a module for each file
make()
{
	{
		printf '[package]\nname = "m"\nroot = "root"\n[[module]]\nid = "root"\nkind = "example.root"\npayload = "net.bin"\nimports = ['
		for f in "$@"; do test "$f" = "$1" || printf '"%s",' "$f"; done
		printf ']\n'
		for f in "$@"; do
			test "$f" = "$1" && continue
			printf '[[module]]\nid = "%s"\n' "$f"
			case $f in
			net*) printf 'kind = "example.net"\npayload = "%s"\n' "$f" && continue ;;
			*.ptx) printf 'kind = "cuda"\n' && row scale '"handle", "handle", "float32", "int32"' ;;
			*.cubin) printf 'kind = "cuda"\n' && row sums '"handle", "handle", "int32"' ;;
			blur* | softer*) printf 'kind = "opencl"\n' && row blur3 '"handle", "handle", "int32"' ;;
			one*) printf 'kind = "opencl"\n' && row clampi '"handle", "int32"' ;;
			two*) printf 'kind = "opencl"\nfunction = [{ name = "clampi", args = ["handle", "int32"], launch = ["blockIdx.x"] }, { name = "mix16", args = ["handle", "int32"], launch = ["blockIdx.x"] }]\n' ;;
			esac
			printf 'data = "%s"\n' "$f"
		done
	} >"$1.toml"
	mpack build -q "$1.toml" -o "$1.blob"
}
compare()
{
	echo "\$ minspect --diff $*"
	minspect --diff "$@" || echo "status $?"
}
make old blur.cl two.cl
# one module more in front: the last import is the first module
make front blur.cl two.cl code.ptx
compare old.blob front.blob
compare front.blob old.blob
# another order
make order two.cl blur.cl
compare old.blob order.blob
# moved and changed: compared with its partner, not with what stands at its path
make changed softer.cl one.cl code.ptx
compare old.blob changed.blob
minspect --json --diff old.blob changed.blob | sed -n '/"differences"/,$p' | grep -v '"diff"'
minspect --markdown --diff old.blob changed.blob | sed -n '/^| | module/,/^$/p;/<summary>/p'
# nothing tells what a module of an unknown kind is, but that it is the only one left of its kind
make net net.bin two.cl
printf 'other' >net2.bin
make net2 net2.bin two.cl code.ptx
compare net.blob net2.blob
# and where nothing moved, the path does
make place softer.cl two.cl
compare old.blob place.blob
make kind blur.cl code.ptx
compare old.blob kind.blob
# figures of kernels are compared wherever their module stands
cp data/device/sums.sm_90.cubin sums.cubin
cp data/device/sums_spill.sm_90.cubin spill.cubin
make sums sums.cubin
make spill spill.cubin two.cl
compare sums.blob spill.blob
minspect --markdown --diff sums.blob spill.blob | grep registers
