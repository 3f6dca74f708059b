mpack unpack missing.so -o dir || status=$?
test ! -e dir
exit "$status"
