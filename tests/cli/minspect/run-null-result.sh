# a tensor that a function returns without a shape or without data, or none at all
cat >null.c <<'C'
#include <stdint.h>
#include <stdlib.h>
typedef struct {
	void *data;
	struct { int32_t type, id; } device;
	int32_t ndim;
	struct { uint8_t code, bits; uint16_t lanes; } dtype;
	int64_t *shape, *strides;
	uint64_t byte_offset;
} DLTensor;
typedef struct { int32_t type_index; uint32_t padding; union { int64_t i; void *p; } v; } Any;
typedef struct { uint64_t references; int32_t type_index; uint32_t padding; void (*deleter)(void *, int); DLTensor dl; } Tensor;
enum { DLTENSOR = 7, TENSOR = 70 };
static int64_t shape[] = { 3 };
static float data[] = { 1, 2, 3 };
#define FN(name) __attribute__((visibility("default"))) int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *out)
#define MAKE(name, elements, dimensions) \
	FN(name) \
	{ \
		Tensor *t = calloc(1, sizeof *t); \
		*t = (Tensor){ 1 | UINT64_C(1) << 32, TENSOR, 0, NULL, { elements, { 1, 0 }, 1, { 2, 32, 1 }, dimensions, 0, 0 } }; \
		out->type_index = TENSOR; \
		out->v.p = t; \
		return 0; \
	} \
	FN(bare_##name) \
	{ \
		static DLTensor t; \
		t = (DLTensor){ elements, { 1, 0 }, 1, { 2, 32, 1 }, dimensions, 0, 0 }; \
		out->type_index = DLTENSOR; \
		out->v.p = &t; \
		return 0; \
	}
MAKE(whole, data, shape)
MAKE(no_data, NULL, shape)
MAKE(no_shape, data, NULL)
FN(nothing) { out->type_index = DLTENSOR; out->v.p = NULL; return 0; }
C
cc -shared -fPIC -o null.so null.c
for name in whole bare_whole no_data bare_no_data no_shape bare_no_shape nothing; do
	minspect --run $name null.so && continue
	test $? = 8
done
