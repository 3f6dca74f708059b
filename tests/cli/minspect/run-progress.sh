# a line while a library is loaded, when that takes long and somebody looks; not a byte of it elsewhere
cat >slow.c <<'END'
#include <unistd.h>
__attribute__((constructor)) static void wait_a_little(void) { usleep(700000); }
int __tvm_ffi_one(void *self, const void *args, int n, void *result) { (void)self, (void)args, (void)n, (void)result; return 0; }
END
cc -shared -fPIC -o slow.so slow.c
minspect --run one slow.so 2>quiet
minspect --run one slow.so --progress=always 2>always
minspect -q --run one slow.so --progress=always 2>wanted-quiet
test ! -s quiet
test ! -s wanted-quiet
# written over itself, and wiped at the end
tr '\r' '\n' <always | grep -c 'loading 0 s' >count
test "$(cat count)" -ge 2
tail -c 4 always | od -An -tx1
# on a terminal by itself
command -v script >/dev/null || exit 0
script -qec "minspect --run one slow.so" typescript >/dev/null </dev/null
grep -q 'loading 0 s' typescript
script -qec "minspect --run main data/formats/06_relax_vm.so --input 4xf32" typescript >/dev/null </dev/null
! grep -q loading typescript
