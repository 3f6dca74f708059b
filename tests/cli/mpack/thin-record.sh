# RECORD of a thinned wheel is read and written as CSV: quotes, commas, line ends and NUL in names, other line ends, rows
# without digests; nothing but rows of changed libraries differs
cat >make.py <<'PY'
import csv, io, zipfile

cuda = open("data/gpu/cuda.so", "rb").read()
ODD = ['a"b.so', "c, d.so", "e\nf.so", 'é"x",.so']


def quoted(name):
    return '"%s"' % name.replace('"', '""')


RECORDS = {
    "odd": "".join(quoted(n) + ",sha256=AA,3\n" for n in ODD) + "none.py,sha256=b,4\napp-1.dist-info/RECORD,,\n",
    "quoted": "".join(quoted(n) + ',"sha256=AA","3"\r\n' for n in ODD) + '"none.py","",""\r\n"last.so","sha256=AA","3"',
    "nul": "x.so,sha256=AA,3\nb\0c,,\nlast.so,,\nrest,sha256=b,4\n",
    "twice": "twice.so,sha256=AA,3\n" * 3,
    "open": 'x.so,sha256=AA,3\n"y\n.so',
}
for name, record in RECORDS.items():
    with zipfile.ZipFile(name + ".whl", "w", zipfile.ZIP_DEFLATED) as z:
        for member in ODD + ["last.so", "x.so", '"y\n.so']:
            z.writestr(member, cuda)
        if name == "twice":  # the last of a name is what unpacking leaves
            z.writestr("twice.so", cuda)
            z.writestr("twice.so", b"text")
        z.writestr("app-1.dist-info/RECORD", record, zipfile.ZIP_STORED)
PY
cat >look.py <<'PY'
import base64, csv, hashlib, io, sys, zipfile


def rows(z):
    return list(csv.reader(io.StringIO(z.read("app-1.dist-info/RECORD").decode(), newline="")))


old, new = zipfile.ZipFile(sys.argv[1]), zipfile.ZipFile(sys.argv[2])
was, now = rows(old), rows(new)
assert [r[0] for r in was] == [r[0] for r in now]
for before, after in zip(was, now):
    name = after[0]
    if name in new.namelist() and new.read(name) != old.read(name) and name.endswith(".so"):
        data = new.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert after == [name, "sha256=" + digest, str(len(data))], after
        print("changed:", ascii(name))
    else:
        assert before == after, (before, after)
        print("as it was:", ascii(name))
PY
python3 make.py 2>/dev/null
for name in odd quoted nul twice; do
	echo "$name:"
	mpack thin $name.whl -o thin-$name.whl --keep sm_90
	python3 look.py $name.whl thin-$name.whl
	unzip -p thin-$name.whl app-1.dist-info/RECORD | tr -d '\n' | tail -c 12 | od -An -c
done
mpack thin open.whl -o none.whl --keep sm_90 2>&1 || echo $?
ls none.whl 2>/dev/null || echo "no output"
