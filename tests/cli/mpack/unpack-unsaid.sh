# Trees that no manifest gives: a kind of no text, a module that nothing imports, bytes at the end.
cat >make.py <<'END'
import struct, sys
q = lambda *v: struct.pack("<%dQ" % len(v), *v)
s = lambda b: q(len(b)) + b
def blob(kinds, children, tail=b""):
    rows = [0]
    for c in children:
        rows.append(rows[-1] + len(c))
    body = q(len(rows), *rows) + q(rows[-1], *[i for c in children for i in c])
    for k in kinds:
        body += s(k) if k == b"_lib" else s(k) + s(b"payload")
    return s(body + tail)
open("kind.blob", "wb").write(blob([b"_lib", b"a\0b"], [[1], []]))
open("text.blob", "wb").write(blob([b"_lib", b"\xff\xfe"], [[1], []]))
open("alone.blob", "wb").write(blob([b"_lib", b"a", b"b"], [[1], [], []]))
open("hosts.blob", "wb").write(blob([b"a", b"_lib", b"_lib"], [[1, 2], [], []]))
open("tail.blob", "wb").write(blob([b"_lib", b"a"], [[1], []], b"more"))
END
python3 make.py
for f in kind text alone hosts tail; do
	mpack unpack $f.blob -o dir || echo $?
done
ls
