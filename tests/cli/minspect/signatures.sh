# a signature is shown when it is certain: its text is whole, of that function, and the only one
compile() { cc -shared -fPIC -O1 -o "$1.so" -x c -; }
shown() { minspect --functions "$1.so" | sed -n 's/^  \([a-z].*\)/\1/p'; }
MARK='const char *mark = " when calling:\n  `";'
F='(void *self, const void *args, int n, void *out)'

# a linker merges texts that end alike: the code of add points into that of my_long_add
cat >merged.c <<END
$MARK
extern int show(const char *);
int __tvm_ffi_my_long_add$F { return show("my_long_add(A: Tensor([4], float32), B: Tensor([4], float32))"); }
int __tvm_ffi_add$F { return show("add(A: Tensor([4], float32), B: Tensor([4], float32))"); }
END
compile merged <merged.c
strings -n 4 merged.so | grep -c '^add(' || true
shown merged

# the same text within that of another function, and code that does not point at it
sed '/_ffi_add/s/show(.*;/show("other");/' merged.c | compile foreign
shown foreign

# two texts that contradict each other, neither in the code; then one of them in the code
cat >two.c <<END
$MARK
const char *texts[] = { "add(A: Tensor([4], float32), B: Tensor([4], float32))", "add(A: Tensor([5], float32))" };
extern int show(const char *);
int __tvm_ffi_add$F { return show("add"); }
END
compile two <two.c
shown two
sed 's/show("add")/show("add(A: Tensor([5], float32))")/' two.c | compile decided
shown decided

# texts without the message of TVM around them; a text that is cut; one in a blob's payload
sed '/mark/d;/my_long_add/d' merged.c | compile unmarked
shown unmarked
cat >cut.c <<END
$MARK
extern int show(const char *);
int __tvm_ffi_add$F { return show("add(A: Tensor([4], flo"); }
END
compile cut <cut.c
shown cut

# assertions: two ranks for one argument
cat >assert.c <<'END'
const char *texts[] = {
	"Assert fail: n == 1, f: num_args should be 1",
	"Assert fail: A_code == 3, f: Expect arg[0] to be pointer",
	"Assert fail: 1 == T.tvm_struct_get(A, 0, 4, \"int32\"), f.A.ndim is expected to equal 1",
	"Assert fail: x, f.A.dtype is expected to be float32",
	MORE
};
const char __tvm_main__[] = "f";
void *__tvm_module_ctx;
int f(void *a, void *b, int n, void *c, void *d) { return 0; }
END
sed 's/MORE//' assert.c | compile agreed
shown agreed
sed 's/MORE/"Assert fail: 2 == T.tvm_struct_get(A, 0, 4), f.A.ndim is expected to equal 2"/' assert.c | compile disagreed
shown disagreed

# TileLang's own sentences: an extent that they do not tell is "_", and left open in the call
cat >tile.c <<END
extern int show(const char *);
int __tvm_ffi_f$F {
	return show("f: num_args should be 2") +
	       show("kernel f input B expected pointer or tensor handle") +
	       show("kernel f input A expected pointer or tensor handle") +
	       show("kernel f input B ndim mismatch, expected 2") +
	       show("kernel f input B dtype mismatch, expected float16") +
	       show("kernel f input B shape[1] violates packed ABI constraint") +
	       show("kernel f input A ndim mismatch, expected 0") +
	       show("kernel f input A dtype mismatch, expected int8") +
	       show("kernel f input A device_type mismatch, expected cpu");
}
END
compile tile <tile.c
minspect --functions tile.so | tail -n 2
# one argument more than is told of; two types
sed 's/be 2/be 3/' tile.c | compile more
shown more
sed 's/int8/int8") + show("kernel f input A dtype mismatch, expected int16/' tile.c | compile types
shown types
