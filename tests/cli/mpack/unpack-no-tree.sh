# TVM 0.7 and older: modules without an import tree.
python3 - >old.blob <<'END'
import struct, sys
s = lambda b: struct.pack("<Q", len(b)) + b
# 1 item: a cuda module without kernels
body = struct.pack("<Q", 1) + s(b"cuda") + s(b"ptx") + struct.pack("<Q", 0) + s(b"code")
sys.stdout.buffer.write(s(body))
END
mpack unpack old.blob -o dir || status=$?
test ! -e dir
exit "$status"
