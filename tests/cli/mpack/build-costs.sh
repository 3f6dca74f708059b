# What packing, extracting and editing 64 MiB costs, in numbers that no load of the machine
# changes: bytes that system calls bring into the programs, system calls, memory.
command -v strace >/dev/null || { echo "strace is not installed"; exit 77; }
strace -o trace true 2>/dev/null || { echo "this system does not let processes be traced"; exit 77; }

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
	prlimit --data=$size strace -f -qq -o trace -e trace='!futex' "$@" 2>/dev/null
	awk -v what="$what" -v size=$size '
		/ (read|pread64|readv)(\(| resumed).*= [0-9]+$/ { got += $NF }
		/ (write|pwrite64|writev|copy_file_range)(\(| resumed).*= [0-9]+$/ { put += $NF }
		END {
			print what ": brought in " (got < size * 1.1 ? "once" : got " bytes") \
			      ", written " (put >= size && put < size * 1.1 ? "once" : put " bytes") \
			      ", " (NR < 8000 ? "few" : NR) " calls"
		}' trace
}

costs build mpack build -o costs.so
costs edit mpack edit costs.so -o edited.so --replace /0=other.bin
costs onto mpack edit edited.so -o edited.so --replace /0=small.bin
costs extract minspect --extract files edited.so
cmp costs.so edited.so
cmp weights.bin files/*weights/payload.bin
