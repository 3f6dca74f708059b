# A compiler that never ends: nothing of the build is left, whatever ends it.
printf '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["%s"]\n' host.c >mpack.toml
touch host.c
mkdir tmp
printf '#!/bin/sh\n>started\nexec sleep 30\n' >cc
chmod +x cc
for signal in HUP TERM KILL; do
	echo old >deploy.so
	TMPDIR=$PWD/tmp mpack build -o deploy.so --cc "$PWD/cc" &
	while [ ! -e started ]; do sleep 0.01; done
	rm started
	kill -$signal $!
	wait $! 2>/dev/null || true
	while [ -n "$(ls tmp)" ]; do sleep 0.01; done
	grep -qx old deploy.so
done
ls
