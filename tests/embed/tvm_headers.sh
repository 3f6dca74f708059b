# tvm_headers.sh - include/: what the C sources that TVM exports want of its headers, for cases without TVM; sourced
mkdir -p include/tvm/runtime include/tvm/ffi
cat >include/tvm/ffi/c_api.h <<END
#pragma once
#include <stdint.h>
#include <stddef.h>
#define TVM_DLL __attribute__((visibility("default")))
typedef struct { int32_t type_index; uint32_t pad; union { int64_t v_int64; double v_float64; void *v_ptr; }; } TVMFFIAny;
typedef struct { void *data; struct { int32_t device_type, device_id; } device; int32_t ndim;
	struct { uint8_t code, bits; uint16_t lanes; } dtype; int64_t *shape, *strides; uint64_t byte_offset; } DLTensor;
void TVMFFIErrorSetRaisedFromCStrParts(const char *, const char **, int32_t);
END
: >include/tvm/runtime/c_backend_api.h
echo '#include "tvm/ffi/c_api.h"' >include/tvm/runtime/base.h
