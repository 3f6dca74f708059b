# a name that an executable in the tree has is that executable's function, whatever the host code calls so: every
# kind of executable, generation and alias. Who was called is what stands in the log
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >payloads.py <<'END'
from relay_program import RET, executable, function, instr, packed
from writer import i32, i64, many, text, texts, u64

def relax(generation, *code, compiled=False):
    main = i32(2 if compiled else 1) + text("main") + i64(0, len(code), 1, 2) + texts("x")
    body = i32(0) + text("body") + i64(0, 0, -2, 0) + many()
    offsets = [sum(map(len, code[:i])) for i in range(len(code))]
    content = u64(0xD225DE2F4214151D) + text("0.14") + many(main, body) + many()
    content += many(*map(i64, offsets)) + many(*(i64(w) for words in code for w in words))
    return content if generation == "ffi" else text(content)

main = function("main", 2, ["x"], [0], packed(0, [0], 0), instr(RET, 0))
open("relay.bin", "wb").write(executable(["main"], [main], ["body"]))
for generation in "legacy", "ffi-0.21", "ffi":
    open(f"code.{generation}.bin", "wb").write(relax(generation, [1, 1, 1, 1, 0], [2, 0]))
    open(f"compiled.{generation}.bin", "wb").write(relax(generation, compiled=True))
    open(f"same.{generation}.bin", "wb").write(relax(generation, [2, 0]))
open("graph.json", "w").write(
    '{"nodes":[{"op":"null","name":"x","inputs":[]},{"op":"tvm_op","name":"y","attrs":{"func_name":"body",'
    '"num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[0,0,0]]}],"arg_nodes":[0],'
    '"heads":[[1,0,0]],"node_row_ptr":[0,1,2],"attrs":{"dltype":["list_str",["float32","float32"]],'
    '"storage_id":["list_int",[0,1]],"shape":["list_shape",[[4],[4]]]}}')
END
PYTHONPATH="$ROOT/tests/manual" PYTHONDONTWRITEBYTECODE=1 python3 payloads.py
cat >functions.c <<'END'
#include <stdio.h>
#define FUNCTION(id, symbol)                                                                       \
	int id(void *a, void *b, int c, void *d, void *e, void *f) __asm__(symbol);                \
	int id(void *a, void *b, int c, void *d, void *e, void *f)                                 \
	{                                                                                          \
		FILE *log = fopen("log", "a");                                                     \
		fputs(symbol " ", log);                                                            \
		fclose(log);                                                                       \
		return 0;                                                                          \
	}
FUNCTION(body, PREFIX "body")
FUNCTION(compiled, PREFIX "__vmtir__main")
FUNCTION(other, PREFIX "other")
#ifdef DATA
const char __tvm_main__[] = "other";
#endif
#ifdef ENTRY
FUNCTION(entry, ENTRY)
#endif
#ifdef SAME
FUNCTION(same, PREFIX "main")
#endif
#ifdef ALONE
void *__tvm_module_ctx;
#endif
#ifdef AS_FACTORY
FUNCTION(factory, PREFIX "default")
#endif
END

# try GENERATION KIND PAYLOAD ALIAS NAME...: calls of a library of both
try() {
	g=$1 k=$2 p=$3 defines=$4
	shift 4
	prefix=
	test "$g" != ffi || prefix=__tvm_ffi_
	cat >mpack.toml <<-END
	[package]
	name = "names"
	abi  = "$g"
	root = "$top"
	[[module]]
	id      = "model"
	kind    = "$k"
	$p
	$(test $top = host || echo 'imports = ["host"]')
	[[module]]
	id      = "host"
	kind    = "host"
	sources = ["host.c"]
	$(test $top = model || echo 'imports = ["model"]')
	END
	sed -i 's/^\t*//' mpack.toml
	{ echo "#define PREFIX \"$prefix\""; printf '%s' "$defines" | tr '+' '\n' | sed 's/^/#define /'; echo; } >defines.h
	cat defines.h functions.c >host.c
	mpack build -q mpack.toml -o lib.so
	for f; do
		: >log
		minspect --run "$f" lib.so --input 4xf32 >out 2>&1 || true
		echo "  $f: $(cat log)$(test -s log || tail -1 out | sed 's/, which is.*//')"
	done
}
top=model
for generation in legacy ffi-0.21; do
	for kind in VMExecutable relax.VMExecutable compiled; do
		test "$kind$generation" != VMExecutableffi-0.21 || continue
		payload="payload = \"code.$generation.bin\""
		test $kind != compiled || payload="payload = \"compiled.$generation.bin\""
		test $kind != VMExecutable || payload='payload = "relay.bin"'
		for alias in DATA 'ENTRY "__tvm_main__"' SAME SAME+DATA; do
			echo "$generation $kind $alias"
			name=relax.VMExecutable
			test $kind != VMExecutable || name=$kind
			try $generation $name "$payload" "$alias" main /#main __tvm_main__ other
		done
	done
done
for kind in code compiled; do
	for alias in '' SAME; do
		echo "ffi $kind $alias"
		try ffi relax.VMExecutable "payload = \"$kind.ffi.bin\"" "$alias" main /#main __tvm_ffi_main other
	done
done
for name in default main; do
	for alias in DATA SAME+AS_FACTORY; do
		echo "graph $name $alias"
		try legacy GraphExecutorFactory "name = \"$name\"
		graph = \"graph.json\"" "$alias" $name /#$name __tvm_main__
		# its entry is told by host code, which is not there: who was meant is seen all the same
		echo "aot $name $alias"
		try legacy AotExecutorFactory "name = \"$name\"" "$alias" $name /#$name __tvm_main__
	done
done
# an executable below host code, which sees none of it: it gives its input back
top=host
for generation in legacy ffi-0.21 ffi; do
	echo "below host $generation"
	try $generation relax.VMExecutable "payload = \"same.$generation.bin\"" SAME main /0#main /#main
done
# what else names functions agrees
top=model
echo every action
try legacy VMExecutable 'payload = "relay.bin"' DATA main
minspect --functions lib.so
: >log
minspect --run main --trace lib.so --input 4xf32 2>&1
minspect --run main --profile lib.so --input 4xf32 2>&1 | grep -c body
minspect --run /#main --trace lib.so --input 4xf32 2>&1
cat >cases.toml <<'END'
[[case]]
run = "main"
args = [{ input = "4xf32" }]
expect = ["4xf32"]
[[case]]
run = "/#main"
args = [{ input = "4xf32" }]
expect = ["4xf32"]
END
minspect --cases cases.toml lib.so
cat log
echo
try legacy VMExecutable 'payload = "relay.bin"' SAME main /0#main
minspect --functions lib.so
minspect --header - lib.so | grep '^/\* main'
# without an executable as before
echo no executable
for alias in DATA 'ENTRY "__tvm_main__"' SAME; do
	{ printf '#define PREFIX ""\n#define ALONE\n#define %s\n' "$alias"; cat functions.c; } >host.c
	cc -shared -fPIC -w -o lib.so host.c
	: >log
	for name in main __tvm_main__ __tvm_ffi_main; do
		minspect --run $name lib.so --input 4xf32 >/dev/null 2>&1 || printf 'no '
	done
	cat log
	echo
done
