# the libraries of a wheel are thinned, RECORD tells of them as they are now, all other members are the same bytes
cat >make.py <<'END'
import base64, hashlib, sys, zipfile


def record(files):
    rows = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        path = f'"{name}"' if "," in name else name
        rows.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join(rows + ["app-1.dist-info/RECORD,,", "app-1.dist-info/RECORD.jws,,", ""]).encode()


cuda, hip = open("data/gpu/cuda.so", "rb").read(), open("data/gpu/hip.so", "rb").read()
host = open("data/formats/01_opencl_scale.so", "rb").read()
files = [("app/cuda.so", cuda), ("app/__init__.py", b"import this\n"), ("app/a,b.so.1", cuda), ("app/hip.so", hip),
         ("app/host.so", host), ("app/text.so", b"no library"), ("app-1.dist-info/METADATA", b"Name: app\n")]
with zipfile.ZipFile("app.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for i, (name, data) in enumerate(files + [("app-1.dist-info/RECORD", record(files)),
                                              ("app-1.dist-info/RECORD.jws", b"{}")]):
        info = zipfile.ZipInfo(name, (1980 + i, 1, 1, 0, 0, 0))
        info.external_attr = 0o100750 << 16
        z.writestr(info, data, zipfile.ZIP_STORED if i == 3 else zipfile.ZIP_DEFLATED)
# as tools write it that do not know sizes in advance
with open("stream.whl", "wb") as f:
    class Pipe:
        write = f.write
        flush = f.flush
    with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files + [("app-1.dist-info/RECORD", record(files)), ("app-1.dist-info/RECORD.jws", b"{}")]:
            z.writestr(name, data)
END
cat >look.py <<'END'
import base64, csv, hashlib, io, sys, zipfile

old, new = zipfile.ZipFile(sys.argv[1]), zipfile.ZipFile(sys.argv[2])
assert new.testzip() is None
for info in new.infolist():
    was = old.getinfo(info.filename)
    assert (info.date_time, info.external_attr, info.compress_type) == (was.date_time, was.external_attr, was.compress_type)
    if new.read(info) != old.read(info.filename):
        print(info.filename, "shrinks" if info.file_size < was.file_size else "changes")
        with open("new-" + info.filename.rsplit("/", 1)[1], "wb") as f:
            f.write(new.read(info))
print("gone:", *set(old.namelist()) - set(new.namelist()))
for path, digest, size in csv.reader(io.StringIO(new.read("app-1.dist-info/RECORD").decode())):
    if digest:
        data = new.read(path)
        assert int(size) == len(data)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), path
END
python3 make.py
for name in app stream; do
	mpack thin $name.whl -o thin-$name.whl --keep sm_90
	python3 look.py $name.whl thin-$name.whl
	minspect --verify 'thin-'$name'.whl!/app/cuda.so'
	mpack thin data/gpu/cuda.so -o cuda.so --keep sm_90 --force
	cmp cuda.so new-cuda.so
done
# nothing to do: the same file; and what cannot be done names the member
mpack thin app.whl -o same.whl --keep sm_80,sm_90,compute_90,gfx90a,gfx1100
cmp app.whl same.whl
mpack thin app.whl -o none.whl --keep sm_86,gfx1100 2>&1 || echo $?
mpack thin app.whl -o none.whl --keep sm_75 2>&1 || echo $?
mpack thin app.whl -o - --keep sm_90 2>&1 || echo $?
head -c 3000 app.whl >cut.whl
mpack thin cut.whl -o none.whl --keep sm_90 2>&1 || echo $?
ls
