# A name in `calls` that nothing defines is found by the build, at its place in the manifest.
printf 'int twice(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; return 0; }\n' >twice.c
printf 'int over(const float *x, float *y, int n) { return x == y || n < 0; }\n' >over.cc
manifest() { # CALLS [LINE...]
	calls=$1
	shift
	printf '[package]\nname = "m"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["twice.c", "over.cc"]\n'
	[ $# -eq 0 ] || printf '%s\n' "$@"
	printf '[[function]]\nname = "f"\ncalls = "%s"\n' "$calls"
	printf 'params = ["x: float32[n]", "y: float32[n]"]\nreturns = "status"\n'
}
try() {
	manifest "$@" >m.toml
	mpack build -q m.toml -o m.so && echo built || echo "status $?"
}
try 'int twice(const float *x, float *y, int n)'
try 'int twcie(const float *x, float *y, int n)'
test ! -e m.so || echo "and the library that was there stays"
try 'int elsewhere_altogether(const float *x, float *y, int n)'
try 'int over(const float *x, float *y, int n)'
echo "== libraries"
printf 'int own(const float *x, float *y, int n) { return x == y || n < 0; }\n' >own.c
cc -shared -fPIC -o libown.so own.c
cc -c -fPIC own.c && ar rc libown.a own.o
try 'int own(const float *x, float *y, int n)'
try 'int own(const float *x, float *y, int n)' 'libs = ["./libown.so"]'
try 'int own(const float *x, float *y, int n)' 'libs = ["./libown.a"]'
# the C library's
printf '[package]\nname = "m"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["twice.c"]\nlibs = ["m"]\n[[function]]\nname = "f"\ncalls = "double exp2(double x)"\nparams = ["x: float64"]\nreturns = "value"\n' >m.toml
mpack build -q m.toml -o exp2.so && minspect --run f exp2.so --input 3.0
sed -i 's/exp2/exp3/' m.toml
mpack build -q m.toml -o exp3.so || echo "status $?"
# hidden is defined
try 'int twice(const float *x, float *y, int n)' 'cflags = ["-fvisibility=hidden"]'
# a second step has a place of its own; an archive is linked by somebody else
cat >steps.toml <<'END'
[package]
name = "steps"
[[module]]
id = "host"
kind = "host"
sources = ["twice.c"]
[[function]]
name = "two"
params = ["x: float32[n]", "y: float32[n]"]
[[function.steps]]
calls = "int twice(const float *x, float *y, int n)"
returns = "status"
[[function.steps]]
calls = "int thrice(const float *x, float *y, int n)"
returns = "status"
END
mpack build -q steps.toml -o steps.so || echo "status $?"
mpack build -q steps.toml -o steps.a && echo built
