# What packing, extracting and editing 64 MiB costs, in numbers that no load of the machine
# changes: bytes that system calls bring into the programs, system calls, memory.
# The kernel counts them, for a process and the children it has waited for.
[ -r /proc/self/io ] || { echo "this kernel does not count what processes read and write"; exit 77; }

size=67108864
prlimit --data=$size mpack --version >/dev/null 2>&1 ||
	{ echo "this build needs more memory than it may have here (a sanitizer)"; exit 77; }
head -c $size /dev/zero | tr '\0' w >weights.bin
echo first >small.bin
echo other >other.bin
cat >mpack.toml <<EOF
[package]
name = "costs"
[[module]]
id = "a"
kind = "weights"
payload = "weights.bin"
imports = ["b"]
[[module]]
id = "b"
kind = "small"
payload = "small.bin"
EOF

# The heap of any process stays below the payload; what is mapped of a file is not heap.
costs()
{
	what=$1
	shift
	prlimit --data=$size sh -c '"$@" >&2 || exit; cat /proc/$$/io' costs "$@" 2>said >counts || cat said >&2
	awk -v what="$what" -v size=$size '
		function times(bytes) { return bytes >= size && bytes < size * 1.1 ? "once" : bytes " bytes" }
		{ count[$1] = $2 }
		END {
			calls = count["syscr:"] + count["syscw:"]
			print what ": brought in " times(count["rchar:"]) ", written " times(count["wchar:"]) \
			      ", " (calls < 2500 ? "few" : calls) " calls"
		}' counts
}

costs build mpack build -o costs.so
costs edit mpack edit costs.so -o edited.so --replace /0=other.bin
costs onto mpack edit edited.so -o edited.so --replace /0=small.bin
costs extract minspect --extract files edited.so
cmp costs.so edited.so
cmp weights.bin files/*weights/payload.bin
