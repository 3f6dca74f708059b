# a compiler behind distcc: another machine, here this one, compiles, and the bytes are the same
for tool in distcc distccd python3 cc; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
trap 'kill $server' EXIT
# a port that is free may be somebody's a moment later: then the server ends, and another is tried
for _ in 1 2 3 4 5; do
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	TMPDIR=/tmp distccd --no-detach --daemon --allow 127.0.0.1 --listen 127.0.0.1 --port "$port" --jobs 1 \
		--enable-tcp-insecure --log-stderr >/dev/null 2>log &
	server=$!
	while kill -0 $server 2>/dev/null; do
		python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$port" 2>/dev/null && break 2
		sleep 0.1
	done
done
export DISTCC_HOSTS="127.0.0.1:$port" DISTCC_DIR="$PWD/state" DISTCC_FALLBACK=0
mkdir state
mpack build data/example/mpack.toml -o plain.so
mpack build data/example/mpack.toml -o far.so --cc 'distcc cc'
cmp far.so plain.so && echo "the same bytes"
grep -c 'COMPILE_OK' log
