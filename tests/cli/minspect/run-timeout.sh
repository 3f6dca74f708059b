# a call that does not return is ended, with everything it started
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run hang m.so --timeout 3 || status=$?
test -s pid
sh "$ROOT/tests/cli/left" "$HOME" minspect && echo "its child is gone"
exit $status
