# several system libraries in one file are models of their own, each with the name FILE(PREFIX)
for prefix in net_ far_; do
	mpack build -q data/launch/opencl.toml -o $prefix.a --system-lib --prefix $prefix
	mkdir $prefix
	(cd $prefix && ar x ../$prefix.a && for f in *.o; do mv "$f" "$prefix$f"; done)
done
ar rcD both.a net_/*.o far_/*.o
tar -cf both.tar net_/*.o far_/*.o
cc -shared -nodefaultlibs -Wl,--build-id=none -o both.so -Wl,--whole-archive both.a -Wl,--no-whole-archive
for f in both.so both.a both.tar; do
	echo "--- $f"
	minspect $f | grep -E "^(both|  (blob|functions))" | sed 's/, [0-9.]* KiB$//; s/file+.*/FILE/'
	minspect --functions $f | grep '^  saxpy'
	minspect verify $f
done
echo "--- one of them"
minspect "both.so(net_)" | sed -n '1p;/blob/p' | sed 's/, [0-9.]* KiB$//; s/file+.*/FILE/'
minspect --json "both.a(far_)" | grep -E '"(file|prefix|symbol)"' | head -4
minspect extract parts "both.so(far_)" && ls parts
minspect "both.so(none_)" || echo "status $?"
minspect extract parts2 both.so && find parts2 -name index.json | sort
minspect extract parts2 both.so || echo "status $?"
minspect extract parts3 both.so --json | grep -c schema_version
cmp parts2/far_/index.json parts/index.json
mpack build both.so --standalone -o carried.so || echo "status $?"
echo "--- to be linked into a program"
for f in both.so net_.a; do
	minspect check --machine "$(uname -m)" --glibc 2.36 $f | grep -o ': is to be .*there' || echo "no such verdict"
done
minspect check --json --machine "$(uname -m)" --glibc 2.36 net_.a | grep -E '"(loads|verdict)": ("to|null)'
