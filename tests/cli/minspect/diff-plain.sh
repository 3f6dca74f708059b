# two files that were named and of which one or both hold nothing that is known: whether their bytes differ
echo "a text" >a.txt
echo "a test" >b.txt
echo "longer text" >c.txt
cp a.txt d.txt
: >empty.txt
printf 'MZ' >short.txt
cp data/formats/01_opencl_scale.so module.so
head -c 4000 module.so >cut.so
printf '\010\000\022\005onnx' >m.onnx
for pair in "a.txt b.txt" "a.txt c.txt" "a.txt d.txt" "empty.txt a.txt" "a.txt short.txt" "a.txt m.onnx" "m.onnx m.onnx" \
	"a.txt module.so" "module.so a.txt"; do
	echo "== $pair"
	# shellcheck disable=SC2086 # two words
	minspect diff $pair && echo "status 0" || echo "status $?"
done
minspect diff a.txt c.txt --json | jq -c '.files[] | [.file, .other, .differences]'
minspect diff a.txt d.txt --json | jq -c '.files[] | [.file, .other, .differences]'
echo "== damaged files, and no file"
minspect diff a.txt cut.so || echo "status $?"
minspect diff cut.so a.txt || echo "status $?"
minspect diff none.txt a.txt || echo "status $?"
