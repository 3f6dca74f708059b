# An order that TVM's walk of the imports does not give is kept by the manifest.
python3 - >odd.blob <<'END'
import struct, sys
q = lambda *v: struct.pack("<%dQ" % len(v), *v)
s = lambda b: q(len(b)) + b
children = [[1, 2], [3], [4], [], []]
body = q(6, 0, 2, 3, 4, 4, 4) + q(4, *[i for c in children for i in c])
for k in [b"_lib", b"v", b"w", b"x", b"y"]:
    body += s(k) if k == b"_lib" else s(k) + s(b"payload of " + k)
sys.stdout.buffer.write(s(body))
END
mpack unpack - -o dir <odd.blob
head -n 9 dir/mpack.toml
mpack build dir/mpack.toml -o again.blob
cmp again.blob odd.blob
