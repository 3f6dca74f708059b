# so is what left its process group, session and parent
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run hang_away m.so --timeout 3 || status=$?
test -s pid
sh "$ROOT/tests/cli/left" "$HOME" minspect && echo "its child is gone"
exit $status
