# an option given twice is a list or an error, never the last one silently: every option that the help lists,
# of every command of both programs
#
# What takes one value is refused a second. What takes none says the same again. A list is honoured whole:
# each of those named here has its check below, and a new one must get one.
rows()
{
	"$@" --help=all | sed -n 's/^  \(-., \|    \)--\([^ ]*\) \{0,1\}\([^ ]*\).*/\2 \3/p'
}

# walk COMMAND...: give each of its options twice
walk()
{
	rows "$@" >rows
	test -s rows
	while read -r name value; do
		case $name$value in
		*'[='*) name=${name%%\[*} kind=once first="--$name=auto" second="--$name=auto" ;;
		*...) kind=list first="--$name=auto" second="--$name=never" ;;
		"$name") kind=flag first="--$name" second="--$name" ;;
		*) kind=once first="--$name=auto" second="--$name=never" ;;
		esac
		status=0
		"$@" "$first" "$second" >out 2>&1 || status=$?
		refused=0
		grep -q -x -e ".*: error: --$name is given twice, and takes one value" out || refused=$?
		case $kind$refused$status in
		once02 | flag1* | list1*) ;;
		*) echo "$*: --$name twice: status $status"; cat out ;;
		esac
		if [ "$kind" = list ]; then echo "$*: a list: --$name"; fi
	done <rows
}

for command in build check edit init sign unpack; do
	walk mpack $command
done
walk mpack
walk minspect

echo "-- letters and prefixes are the same option"
mpack build -o a.so -o b.so || echo "status $?"
mpack build -o a.so --outp b.so || echo "status $?"
minspect --color never data/formats/09_params.blob --color=never || echo "status $?"

echo "-- --check: a verdict for each"
there="--machine x86_64 --glibc 2.36"
mkdir none libs more
minspect --check $there --libs none --device-arch sm_80 --device-arch sm_90 data/cuda/cubin/vadd_cuda.so || echo "status $?"
minspect --check $there --libs none --device-arch sm_90 --device-arch sm_80 --json data/cuda/cubin/vadd_cuda.so >twice.json || echo "status $?"
python3 -c 'import json; print([(f["loads"], f["there"]["device"]) for f in json.load(open("twice.json"))["files"]])'
minspect --check $there --libs none --tvm 0.17 --tvm 0.18 data/legacy/mlp_vm.so || echo "status $?"

echo "-- --libs: every directory is searched"
for name in libone libtwo; do
	echo "int $name(void) { return 1; }" | cc -shared -o $name.so -x c -
done
echo 'int libone(void), libtwo(void); int __tvm_ffi_f(void) { return libone() + libtwo(); }' >user.c
cc -shared -fPIC -nostdlib -o user.so user.c libone.so libtwo.so
mv libone.so libs
mv libtwo.so more
for dirs in "--libs libs" "--libs more" "--libs libs --libs more"; do
	minspect --check $there $dirs user.so >out || echo "status $?"
	sed 's/\(directory of --libs\).*/\1/; s/; checked.*//' out
done

echo "-- --filter: what one of them chooses"
minspect --functions --filter vadd --filter saxpy --filter nosuch data/cuda/saxpy_opencl.so data/cuda/vadd_opencl.so

echo "-- --meta: one for each cubin, in their order"
mpack init data/triton/scaled_add.cubin data/triton/clustered.cubin --meta data/triton/scaled_add.json \
	--meta data/triton/clustered.json | grep '^name'

echo "-- --source: each is in the page"
printf 'int first;\n' >first.c
printf 'int second;\n' >second.c
minspect --html sources.html --source first.c --source second.c data/cuda/cubin/vadd_cuda.so
grep -o -e 'int first;' -e 'int second;' sources.html

echo "-- --allow-cflag: a manifest may give each of them"
printf 'int f(void) { return 0; }\n' >f.c
printf '[package]\nname = "f"\nroot = "h"\n[[module]]\nid = "h"\nkind = "host"\nsources = ["f.c"]\n' >f.toml
printf 'cflags = ["-fopt-info", "-fproc-stat-report"]\n' >>f.toml
for allowed in "--allow-cflag=-fopt-info" "--allow-cflag=-fproc-stat-report" \
	"--allow-cflag=-fopt-info --allow-cflag=-fproc-stat-report"; do
	# shellcheck disable=SC2086 # several options
	mpack check $allowed f.toml 2>&1 || true
done
