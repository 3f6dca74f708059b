# every mistake of a function that calls a C function has its place
cat >mpack.toml <<'END'
[package]
name = "calls"
[[module]]
id = "host"
kind = "host"
sources = ["c.c"]
[[function]]
name = "kernel_too"
calls = "int f(float *x, int n)"
kernel = "k.f"
grid = [1]
block = [1]
cooperative = true
params = ["x: float32[n]"]
[[function]]
name = "no_kernel"
params = ["x: float32[n]"]
[[function]]
name = "unsaid"
calls = "int f(float *x, int n)"
params = ["x: float32[n]"]
[[function]]
name = "word"
calls = "int f(float *x, int n)"
params = ["x: float32[n]"]
returns = "stauts"
[[function]]
name = "no_status"
calls = "double f(float *x, int n)"
params = ["x: float32[n]"]
returns = "status"
[[function]]
name = "no_value"
calls = "void f(float *x, int n)"
params = ["x: float32[n]"]
returns = "value"
[[function]]
name = "types"
calls = "void f(float *x, int n, double d, const float *c)"
params = ["x: float64[n]", "d: float32", "c: out float32[n]"]
[[function]]
name = "kinds"
calls = "void f(float *x, int n, double d)"
params = ["x: float32[n]", "d: float32"]
args = ["d", "x", "n"]
[[function]]
name = "counts"
calls = "void f(float *x, int n)"
params = ["x: float32[n]"]
args = ["x"]
[[function]]
name = "unknown"
calls = "void f(float *x, int m, long)"
params = ["x: float32[n]"]
[[function]]
name = "unknown_name"
calls = "void f(float *x, int m)"
params = ["x: float32[n]"]
[[function]]
name = "structs"
calls = "void f(struct s x, const char *text, other_t y, int (*g)(int), long double z)"
params = ["x: float32[n]"]
[[function]]
name = "prototypes"
calls = "f(float *x)"
params = ["x: float32[n]"]
[[function]]
name = "two"
calls = "void f(void); void g(void)"
params = []
[[function]]
name = "variable"
calls = "void f(int n, ...)"
params = ["n: int32"]
[[function]]
name = "result"
calls = "struct s f(int n)"
params = ["n: int32"]
[[function]]
name = "pointer"
calls = "float *f(int n)"
params = ["n: int32"]
[[function]]
name = "reserved"
calls = "void TVMFuncCall(void)"
params = []
[[function]]
name = "steps"
params = ["x: float32[n]"]
  [[function.steps]]
  calls = "float f(float *x, int n)"
  [[function.steps]]
  calls = "float f(float *x, int n)"
  returns = 1
[[function]]
name = "mixed"
params = ["x: float32[n]"]
returns = "value"
kernel = "k.f"
args = []
grid = [1]
block = [1]
END
echo 'int f(float *x, int n) { return 0; }' >c.c
mpack check || status=$?
# a name that is a symbol
cat >legacy.toml <<'END'
[package]
name = "calls"
abi = "legacy"
[[module]]
id = "host"
kind = "host"
sources = ["c.c"]
[[function]]
name = "f"
calls = "int f(float *x, int n)"
params = ["x: float32[n]"]
returns = "value"
END
mpack check legacy.toml || true
exit "$status"
