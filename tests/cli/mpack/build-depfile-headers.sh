# The depfile names the headers that sources include: a changed one makes make and ninja build again, and nothing else does.
mkdir 'in clude'
printf '#include "inner.h"\n#define SCALE inner\n' >'in clude/scale$.h'
printf 'static const float inner = 2;\n' >'in clude/inner.h'
printf '#include "scale$.h"\nint twice(const float *x, float *y, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\ty[i] = SCALE * x[i];\n\treturn 0;\n}\n' >twice.c
printf '#include <cmath>\nextern "C" int root(const float *x, float *y, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\ty[i] = std::sqrt(x[i]);\n\treturn 0;\n}\n' >root.cc
cat >mpack.toml <<'END'
[package]
name = "twice"
[[module]]
id = "host"
kind = "host"
sources = ["twice.c", "root.cc"]
include = ["in clude"]
[[function]]
name = "double"
calls = "int twice(const float *x, float *y, int n)"
params = ["x: float32[n]", "y: out float32[n]"]
returns = "status"
END
cat >Makefile <<'END'
deploy.so:
	echo built >>log
	mpack build -q mpack.toml -o deploy.so --depfile deploy.d
-include deploy.d
END
make -s deploy.so
grep -v ' /\|^/' deploy.d | grep -v '^deploy.so:' | sort -u
grep -c 'cmath\|stddef\|libio' deploy.d | sed 's/[1-9][0-9]*/headers of the system/'
! grep '/tmp\|mpack-' deploy.d
make -q deploy.so && echo "nothing to do"
sleep 0.05
printf 'static const float inner = 3;\n' >'in clude/inner.h'
make -s deploy.so
sleep 0.05
rm 'in clude/inner.h'
printf '#define SCALE 4.f\n' >'in clude/scale$.h'
make -s deploy.so
! grep inner deploy.d
wc -l <log
# ninja reads it, too
if command -v ninja >/dev/null; then
	printf 'rule mpack\n command = mpack build -q $in -o $out --depfile $out.d && echo again >>nlog\n depfile = $out.d\nbuild n.so: mpack mpack.toml\n' >build.ninja
	ninja >/dev/null && ninja | tail -n 1 >said
	grep -q 'no work to do' said || cat said
	sleep 0.05
	echo '#define SCALE 5.f' >'in clude/scale$.h'
	ninja >/dev/null
	test "$(wc -l <nlog)" = 2 || cat nlog
fi
# an archive has the objects of the same sources; the bytes do not depend on it
mpack build -q mpack.toml -o a.a --depfile a.d
grep -c 'scale\$\$.h' a.d
mpack build -q mpack.toml -o plain.so
mpack build -q mpack.toml -o listed.so --depfile listed.d
cmp plain.so listed.so
# what no compiler reads has none
mpack build -q data/formats/01_opencl_scale.blob -o c.so --depfile c.d
cat c.d
