# functions that a model calls and its file has not, from libraries that are named
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
cat >half.c <<'END'
#include <stdint.h>
struct cell { int32_t type, pad; union { void *p; int64_t i; } v; };
struct tensor { float *data; int32_t device[2], ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides; uint64_t off; };
/* a DLTensor, or an object of tvm-ffi with one behind its head */
static const struct tensor *tensor(const struct cell *c)
{
	return (void *)((char *)c->v.p + (c->type == 70 ? 24 : 0));
}

/* (x, out): writes half of x to out */
int __tvm_ffi_test_vm_identity(void *self, const struct cell *args, int32_t n, struct cell *out)
{
	const struct tensor *x = tensor(&args[0]), *y = tensor(&args[1]);
	int64_t count = 1;

	(void)self;
	for (int i = 0; i < x->ndim; i++)
		count *= x->shape[i];
	for (int64_t i = 0; i < count; i++)
		y->data[i] = x->data[i] / 2;
	out->type = 0;
	return n == 2 ? 0 : -1;
}
END
printf 'int nothing(void) { return 0; }\n' >none.c
cc -shared -fPIC -o half.so half.c
cc -shared -fPIC -o none.so none.c
for model in registered registered_compiled; do
	minspect run identity data/relax/$model.so --input 1x4xf32=1,2,-3,8 --provide half.so || echo "status $?"
	minspect run identity data/relax/$model.so --input 1x4xf32=1,2,-3,8 --provide half.so --isolate || echo "status $?"
done
minspect run identity data/relax/registered.so --input 1x4xf32=1 2>&1 || echo "status $?"
minspect run identity data/relax/registered.so --input 1x4xf32=1 --provide none.so 2>&1 || echo "status $?"
minspect run identity data/relax/registered.so --input 1x4xf32=1 --provide no-such.so 2>&1 || echo "status $?"
