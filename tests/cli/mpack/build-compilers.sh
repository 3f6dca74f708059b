# Compilers that print without end before they fail, kill themselves, stay as a process, or write beside
# their output; and two builds into one output at the same time, and into one folder.
blob=data/formats/01_opencl_scale.blob
status() { status=0; "$@" 2>log || status=$?; echo "status $status"; }
compiler()
{
	{ echo '#!/bin/sh'; cat; echo 'exec cc "$@"'; } >"cc-$1"
	chmod +x "cc-$1"
}
PATH=$PWD:$PATH TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp
echo old >deploy.so

compiler talks <<'END'
yes 'a line of what it says' | head -c 100000000 >&2
exit 1
END
status mpack build $blob -o deploy.so --cc cc-talks
tail -c 100 log | grep -o 'mpack: .*'
compiler dies <<'END'
kill -SEGV $$
END
status mpack build $blob -o deploy.so --cc cc-dies
grep -o 'signal 11.*' log
compiler stays <<'END'
sleep 300 >/dev/null 2>&1 </dev/null &
echo $! >stays.pid
echo rubbish >"$TMPDIR/rubbish"
END
cat deploy.so
status mpack build $blob -o good.so --cc cc-stays
kill "$(cat stays.pid)" || echo "the build did not come back before it"
minspect --verify good.so

# interrupted while it hangs: the build ends, and its tools with it
compiler hangs <<'END'
sleep 1000 &
echo $$ $! >pid
wait
END
mpack build $blob -o deploy.so --cc cc-hangs >log 2>&1 &
build=$!
while [ ! -s pid ]; do sleep 0.01; done
kill -TERM $build
wait $build 2>/dev/null || echo "status $?"
lives() { grep -qs '^State:	[^Z]' "/proc/$1/status"; } # nobody may be there to reap it
for pid in $(cat pid); do
	for _ in $(seq 100); do lives $pid || break; sleep 0.1; done
	lives $pid && echo "the compiler or what it started is still there"
done
cat deploy.so

# at once, over and over: each is whole, whichever is last
mpack build $blob -o one.so
mpack build data/formats/08_const_loader.blob -o two.so --via c
for _ in 1 2 3 4 5; do
	mpack build $blob -o both.so &
	mpack build data/formats/08_const_loader.blob -o both.so --via c &
	wait
	minspect --verify both.so
done | grep -c 'both.so: no errors'
for _ in 1 2 3; do
	mpack unpack one.so -o apart >/dev/null 2>&1 && echo first &
	mpack unpack one.so -o apart >/dev/null 2>&1 && echo first &
	wait
	rm -r apart
done
for _ in $(seq 50); do [ -z "$(ls tmp)" ] && break; sleep 0.2; done
ls -A tmp
find . -name '*partial*'
