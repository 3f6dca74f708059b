mpack build -o deploy.so || status=$?
test ! -e deploy.so
exit "$status"
