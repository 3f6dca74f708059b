/* What TVM_FFI_EMBED_CUBIN declares, in C: code that reads the embedded images. */
extern const char __tvm_ffi__cubin_kernels[], __tvm_ffi__cubin_kernels_end[];
extern const char __tvm_ffi__cubin_images[], __tvm_ffi__cubin_text[];

__attribute__((visibility("default"))) int __tvm_ffi_launch(void *self, const void *args, int count, void *result)
{
	(void)self, (void)args, (void)result;
	return __tvm_ffi__cubin_kernels[count] + __tvm_ffi__cubin_images[count] + __tvm_ffi__cubin_text[count] +
	       (int)(__tvm_ffi__cubin_kernels_end - __tvm_ffi__cubin_kernels);
}
