# mpack.toml is what is opened when nothing is named.
mpack build -o deploy.so || status=$?
test ! -e deploy.so
exit "$status"
