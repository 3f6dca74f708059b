# -o is the output of every action, as --output is: a page, a header, a folder, or what is printed
cp data/formats/07_relax_opencl.so m.so
minspect --html page.html m.so
for form in "html m.so -o one.html" "--html m.so -o one.html" "-o one.html --html m.so" "html m.so --output=one.html" \
	"html one.html m.so"; do
	# shellcheck disable=SC2086
	minspect --force $form
	cmp page.html one.html && echo "$form"
	rm one.html
done
minspect html m.so | cmp - page.html
minspect --header a.h m.so
minspect header m.so -o b.h
cmp a.pyi b.pyi && minspect header m.so | cmp - a.h
minspect --extract one m.so
minspect extract m.so -o two
diff -r one two
minspect show /0/0 m.so -o part
minspect --show /0/0 m.so | cmp - part
for action in functions size verify json "dot tree" sbom check "disasm main" "diff --all data/formats/06_relax_vm.so" ""; do
	# shellcheck disable=SC2086
	minspect $action m.so >printed || :
	# shellcheck disable=SC2086
	minspect $action m.so -o written || echo "$action: status $?"
	cmp printed written
	rm written
done
minspect run main m.so --input 4xf32=1 --device opencl -o r.npy >/dev/null 2>&1 || minspect run main data/formats/06_relax_vm.so --input 4xf32=1 -o r.npy >/dev/null
head -c 6 r.npy | tail -c 5 && echo

echo "-- whole or not at all"
look() { minspect "$@" 2>&1 || echo "status $?"; }
head -c 9000 m.so >cut.so
look verify cut.so -o cut.txt >/dev/null
look json cut.so -o cut.json
ls cut.*
look functions m.so -o m.so
look functions m.so -o /dev/full
cp data/formats/14_llvm_noblob.so other.so
look functions m.so -o other.so
minspect --size --json -o base.json m.so
look baseline base.json m.so -o base.json
look size m.so -o a.txt -o b.txt
look extract m.so
look html m.so -o a.html -o b.html
look --html=c.html -o b.html m.so
minspect devices -o devices.txt
minspect devices | cmp - devices.txt
minspect cases data/example/cases.toml data/formats/14_llvm_noblob.so -o cases.txt
tail -n 1 cases.txt
ls
