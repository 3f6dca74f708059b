# the rule for Bazel: a build of nothing does nothing, one changed kernel packs one package, another folder takes all
# from the disk cache, and nothing is fetched
for tool in bazel cc; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
[ -e "$(dirname "$BIN")/libexec/mpack/libmpkrun-pic.a" ] || { echo "this build has no executor to carry"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
# project FOLDER COUNT
project()
{
	mkdir -p "$1/tools" && cp "$ROOT/tests/build/bazel/WORKSPACE" "$ROOT/tests/build/bazel/BUILD" "$1"
	cp "$ROOT/scripts/bazel/mpack.bzl" "$1/tools" && : >"$1/tools/BUILD"
	cp "$ROOT/tests/data/relax/gelu.so" "$1/compiled.so"
	for i in $(seq "$2"); do
		mkdir "$1/package$i"
		echo "__kernel void scale(__global float *x) { x[get_global_id(0)] *= $i; }" >"$1/package$i/scale.cl"
		printf '[package]\nname = "package%s"\n\n[[module]]\nid = "k"\nkind = "opencl"\ndata = "scale.cl"\nfunction = [{ name = "scale", args = ["handle"], launch = ["blockIdx.x", "threadIdx.x"] }]\n' "$i" >"$1/package$i/mpack.toml"
	done
}
here=$PWD
bazel_in() { (cd "$1" && shift && bazel --output_user_root="$here/root" --max_idle_secs=10 "$@"); }
stop()
{
	for folder in one two; do [ ! -d "$folder" ] || bazel_in "$folder" shutdown; done >log.stop 2>&1
	chmod -R u+w root
}
trap stop EXIT
# packed FOLDER TARGET: how many packages it makes
packed()
{
	bazel_in "$1" build --color=no --curses=no --noshow_progress --disk_cache="$here/cache" --repository_cache= "$2" >log 2>&1 ||
		{ cat log; exit 1; }
	sed -n 's/^INFO: [0-9]* process[es]*: \(.*\)\./\1/p' log | sed 's/[a-z]*-sandbox/packed/'
}
project one 5
project two 5
packed one //...
packed one //...
sed -i 's/\*=/+=/' one/package3/scale.cl
packed one //...
minspect --show / one/bazel-bin/package3.so | grep -o '+= 3'
minspect one/bazel-bin/model.so | grep -o 'it carries its executor'
packed two //...
cmp one/bazel-bin/package1.so two/bazel-bin/package1.so && echo "the same bytes in another folder"
# a file that the rule is not told of is not there
sed -i 's/glob(\[manifest.*/[],/' two/BUILD
bazel_in two build --color=no //:package2 2>&1 | grep -o 'mpack.toml.*error: .*scale.cl.*' | head -n 1
