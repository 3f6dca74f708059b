# tests/cli/run fails a case that leaves a process behind, wherever that went, says what it is at and ends it; one
# whose processes end by themselves passes
mkdir -p tree/tests/cli/t tree/tests/data bin
cp "$ROOT/tests/cli/run" "$ROOT/tests/cli/left" tree/tests/cli
echo 'setsid sh -c "cd /; exec sleep 60" >/dev/null 2>&1 &' >tree/tests/cli/t/leaves.sh
echo 'setsid sleep 0.3 >/dev/null 2>&1 &' >tree/tests/cli/t/ends.sh
sh tree/tests/cli/run --bin bin --work work -j 1 t/ends t/leaves >log || :
sed -n -E 's/[0-9]+[(]/N(/; s/[0-9]+: sleep/N: sleep/; /N[(:]|^ok|^FAIL|State:|fd 0:|passed/p' log
grep -c -E '(PPid|SigBlk|wchan|syscall):' log
sh "$ROOT/tests/cli/left" "$PWD/work/t/leaves/home"
sh "$ROOT/tests/cli/left" "$HOME" sleep
