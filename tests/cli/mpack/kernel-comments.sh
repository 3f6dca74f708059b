# comments and continued lines are blanks before anything is read, strings are none; what stands under a condition is
# said to, by init, check and --verify alike
cat >k.cl <<'EOF'
#define MANY \
	64 /* of
	two lines */
// a comment that goes on \
__kernel void not_this(int x) { }
__kernel void commented(__global float *y /* out, *really* */, int n /* count */, // the end, or so
	__global /**/ const/**/float *x, // how many (
	int m // of them
) { y[0] = "/* no comment"[0] + '"' + n; }
__ker\
nel void joined(__global flo\
at *y, in\
t n) { }
#if 0
it's no /* kernel */ __kernel void dead(int x) { }
#elif 1
__kernel void live(__global float *y) { }
#else
__kernel void other(__global float *y) { }
#endif
#ifdef NEVER
__kernel void may(__global float *y) { }
# ifndef BUT
__kernel void inner(__global float *y) { }
# endif
#else
__kernel void may_not(__global float *y) { }
#endif
#define KNOWN
#if defined(KNOWN)
__kernel void known(__global float *y) { }
#endif
#if !defined KNOWN
__kernel void unknown(__global float *y) { }
#endif
#ifdef A
__kernel void either(__global float *y, int n) { }
#else
__kernel void either(__global float *y) { }
#endif
EOF
printf '[package]\nname = "x"\n[[module]]\nid = "m"\nkind = "opencl"\ndata = "k.cl"\n' >mpack.toml
row() { printf '  [[module.function]]\n  name = "%s"\n  args = ["handle"%s]\n  launch = ["blockIdx.x"]\n' "$1" "${2-}" >>mpack.toml; }
row commented ', "int32", "handle", "int32"'
row joined ', "int32"'
for k in live may inner may_not known either; do row $k; done
mpack check
mpack build -q -o x.blob
minspect --verify x.blob
minspect --functions x.blob | grep 'OpenCL C'
mpack init k.cl | grep -B1 -A1 'decide: it stands\|^  # .*('
# as deep and as often as a text has room for
python3 -c 'print("#ifdef A\n" * 20000 + "__kernel void k(int n) { }\n" * 20000)' >deep.cl
python3 -c 'print("/*" * 400000)' >open.cl
python3 -c "print('\"\\\\\\\\' * 300000 + \"R\\\"x(\" * 100000)" >quotes.cl
python3 -c 'print("__kernel void k(a/\\\n*" + "\\\n" * 400000 + "*/b) { }")' >joints.cl
python3 -c 'print("".join("#define A%d A%d A%d A%d\n" % (i, i + 1, i + 1, i + 1) for i in range(200)) + "__kernel void k(" + "A0 x, " * 2000 + "int n) { }")' >macros.cl
python3 -c 'print("".join("typedef struct { T%d a, b, c[9]; } T%d;\n" % (i + 1, i) for i in range(3000)) + "__kernel void k(" + "T0 x, " * 2000 + "int n) { }")' >types.cl
for f in deep open quotes joints macros types; do
	status=0
	prlimit --cpu=10 mpack init $f.cl >/dev/null 2>&1 || status=$?
	[ $status -lt 124 ] || echo "$f: status $status"
done
