# a library that cannot be loaded fails every case, and a constructor that crashes does so once
cc -shared -fPIC -o needs.so -x c - <<'END'
int nobody_has_this(void);
int __tvm_ffi_f(void *self, const void *args, int n, void *out) { return nobody_has_this(); }
END
cc -shared -fPIC -o dies.so -x c - <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void begin(void)
{
	fputs("constructor\n", stderr);
	fflush(stderr);
	abort();
}
int __tvm_ffi_f(void *self, const void *args, int n, void *out) { return 0; }
int __tvm_ffi_g(void *self, const void *args, int n, void *out) { return 0; }
END
cat >m.toml <<'END'
[[case]]
run = "f"
[[case]]
run = "g"
END
minspect --cases m.toml needs.so || echo $?
minspect --cases m.toml dies.so || echo $?
minspect --cases m.toml missing.so || echo $?
minspect --json --cases m.toml missing.so || echo $?
