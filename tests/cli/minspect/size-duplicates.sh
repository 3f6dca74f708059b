# two modules with the same code: one of them could be saved
python3 - <<'END'
import struct
s = lambda b: struct.pack("<Q", len(b)) + b
payload = s(b"ptx") + struct.pack("<Q", 0) + s(b".version 6.0\n" * 100)
body = struct.pack("<5Q", 4, 0, 2, 2, 2) + struct.pack("<3Q", 2, 1, 2) + s(b"_lib")
body += 2 * (s(b"cuda") + s(payload))
open("a.blob", "wb").write(s(body))
END
minspect --size a.blob
minspect --size --json a.blob | sed -n '/"duplicates"/,$p'
