# tests/cli/run fails a case that leaves a process behind, wherever that went, and ends it; one whose processes
# end by themselves passes
mkdir -p tree/tests/cli/t tree/tests/data bin
cp "$ROOT/tests/cli/run" "$ROOT/tests/cli/left" tree/tests/cli
echo 'setsid sh -c "cd /; exec sleep 60" >/dev/null 2>&1 &' >tree/tests/cli/t/leaves.sh
echo 'setsid sleep 0.3 >/dev/null 2>&1 &' >tree/tests/cli/t/ends.sh
sh tree/tests/cli/run --bin bin --work work -j 1 t/ends t/leaves | sed 's/[0-9]*(/N(/'
sh "$ROOT/tests/cli/left" "$PWD/work/t/leaves/home"
sh "$ROOT/tests/cli/left" "$HOME" sleep
