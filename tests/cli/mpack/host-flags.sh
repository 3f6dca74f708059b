# flags, folders, macros, a standard and libraries of a host module; paths are relative to the manifest
mkdir -p p/inc/deep p/lib
echo '#define FOUR 4' >p/inc/deep/four.h
cat >p/a.c <<'END'
#include <math.h>
#include "deep/four.h"
#if __STDC_VERSION__ != 199901L || !defined NAMED || defined __OPTIMIZE__ && VALUE != 3
#error "not as the manifest says"
#endif
int own(int x);
double f(double x) { return sqrt(x) + FOUR + VALUE + own(1); }
END
cat >p/b.cc <<'END'
#if __cplusplus != 201703L && !defined EXPERIMENT
#error "not as the manifest says"
#endif
extern "C" int g(int x) { return x + VALUE; }
END
echo 'int own(int x) { return x + 10; }' >own.c
cc -shared -fPIC -Wl,-soname,libown.so own.c -o p/lib/libown.so
cc -c -fPIC own.c && ar rc p/lib/libown.a own.o
cat >p/mpack.toml <<'END'
[package]
name = "flags"
[[module]]
id = "host"
kind = "host"
sources = ["a.c", "b.cc"]
cflags = ["-O3", "-ffast-math", "-fno-math-errno", "-Wall"]
include = ["inc"]
defines = ["NAMED", "VALUE=3", "EXPERIMENT=\"a b\""]
std = "c99"
libs = ["m", "lib/libown.so"]
[[function]]
name = "f"
calls = "double f(double x)"
params = ["x: float64"]
[[function]]
name = "g"
calls = "int g(int x)"
params = ["x: int32"]
returns = "value"
END
mpack build p/mpack.toml -o f.so --depfile f.d --provenance --print-commands 2>commands
grep -o -- '-std=c99.*-Wall' commands
grep -o 'devc.*' commands || grep -o -- '-lm.*' commands
grep -v "^ */" f.d
LD_LIBRARY_PATH=p/lib minspect --run f f.so --input 9.0
LD_LIBRARY_PATH=p/lib minspect --run g f.so --input 5
readelf -dW f.so | grep -o 'NEEDED.*\[lib[mo].*'
minspect --json f.so | grep -o -- '--cflag=-[DIsO][^"]*\|--ldflag=[^"]*' | sort -u
# an archive among libraries gives what is asked for
sed -i 's/libown.so/libown.a/; s/std = .*/std = "c++17"/; s/, "EXPERIMENT.*/]/' p/mpack.toml
sed -i 's/199901L/201710L/' p/a.c
mpack build p/mpack.toml -o g.so --check-repro
minspect --run f g.so --input 9.0
