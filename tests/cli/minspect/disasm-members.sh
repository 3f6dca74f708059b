# An archive whose functions alternate between two members by their names: each member is read once, not again for
# each function.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
for n in 0 1; do
	i=$n
	while [ $i -lt 1500 ]; do
		echo "int __tvm_ffi_f$((10000 + i))(void *a, void *b, int n, void *c) { return n + $i; }"
		i=$((i + 2))
	done >m$n.c
	cc -c -O1 -o m$n.o m$n.c
done
ar rc alternate.a m0.o m1.o
python3 "$ROOT/tests/large/measure.py" alternate.a "minspect disasm --all FILE"
minspect disasm --all alternate.a | grep -c '^[0-9a-f]* <__tvm_ffi_f1[0-9]*>:$'
