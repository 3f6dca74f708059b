# several system libraries in one file: size and diff take each by its prefix
for prefix in net_ far_ new_; do
	mpack build -q data/launch/opencl.toml -o $prefix.a --system-lib --prefix $prefix
	mkdir $prefix
	(cd $prefix && ar x ../$prefix.a && for f in *.o; do mv "$f" "$prefix$f"; done)
done
link() {
	out=$1
	shift
	ar rcD "$out.a" "$@"
	cc -shared -nodefaultlibs -Wl,--build-id=none -o "$out.so" -Wl,--whole-archive "$out.a" -Wl,--no-whole-archive
}
link both net_/*.o far_/*.o
link other net_/*.o new_/*.o
link one net_/*.o
for form in "" --csv; do
	echo "== size $form"
	minspect size both.so --all $form | grep -E '^both.*:|^(modules|sections|host)|file|module|kernel' | sed 's/[0-9.]* KiB/N KiB/g; s/[0-9.]*%/N%/g; s/[0-9]* B/N B/' | cut -d , -f 1-5
done
minspect size both.so --json | jq -c '.files[] | [.file, (.sections | length > 0), (.functions | length > 0), (.modules | length)]'
minspect size both.so --budget 1KiB 2>&1 >/dev/null | sed 's/[0-9.]* KiB/N KiB/g' || echo "status $?"
look() {
	echo "== diff $*"
	minspect diff "$@" >out && echo "status 0" || echo "status $?"
	grep -E '^(---|\+\+\+|[-+] file|~ bytes)' out | sed 's/: .*/: N/' || true
}
look both.so both.so
look both.so other.so
look both.so one.so
look one.so both.so
look one.so one.a
look both.so both.a
cp both.so tail.so
echo "more" >>tail.so
look both.so tail.so
# a file without models is compared with all of them at once
echo "int nothing;" >plain.c
cc -shared -nostdlib -o plain.so plain.c
look plain.c both.so
minspect diff plain.so both.so | grep -c "^+++"
look "both.so(far_)" "other.so(new_)"
look "both.so(far_)" both.so
minspect diff both.so other.so --json | jq -c '.files[] | select(.differences | length > 0) | [.file, .other, .differences[0].change, .differences[0].what]'
