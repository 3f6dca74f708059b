#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif
void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int count);
API void *__tvm_ffi__library_ctx = 0;
API int __tvm_ffi_scale(void *self, void *args, int count, void *result)
{
	static const char *parts[] = { "Expected 4 arguments", " when calling:\n  `",
				       "scale(A: Tensor([n], float32), B: Tensor([n], float32), s: float32, n: int32)", "`" };
	(void)self; (void)args; (void)result;
	if (count != 4)
		TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 4);
	return -1;
}
API int helper(void) { return 1; }
