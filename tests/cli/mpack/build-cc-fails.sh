# A compiler of ours, so that the messages are the same everywhere.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
touch host.c
printf '#!/bin/sh\necho "host.c:1: wrong" >&2\nexit 1\n' >cc
chmod +x cc
mpack build -o deploy.so --cc ./cc || status=$?
test ! -e deploy.so
exit "$status"
