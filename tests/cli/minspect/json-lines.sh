# a document a line, of files and of all below a folder; what is no library there is passed over
mkdir -p tree/sub
cp data/gpu/cuda.so tree/b.so
cp data/relax/gelu.so tree/sub/a.so
cp data/weights/small.gguf tree/sub/w.gguf
cp data/formats/08_const_loader.blob tree/c.blob
echo text >tree/readme.txt
ln -s b.so tree/link.so
ln -s .. tree/sub/up
head -c 5000 data/formats/01_opencl_scale.so >tree/cut.so
python3 -c 'import zipfile
with zipfile.ZipFile("tree/app.whl", "w") as z:
    z.write("data/gpu/hip.so", "x.so"), z.write("data/formats/01_opencl_scale.so", "y.so")'
names() { jq -c '[.schema_version, (.files[] | [.file, (.libraries // [] | length), .error.code])]'; }
{ minspect -q --json=lines tree || echo "status $?" >&2; } | names
{ minspect -q functions --json=lines tree/sub data/gpu/cuda.so || echo "status $?" >&2; } | names
minspect verify --json=lines tree/sub tree/readme.txt 2>/dev/null | jq -c '.files[] | [.file, .errors]'
minspect --json=lines tree/sub/a.so | wc -l
# a folder is no file to call; one that is not there; another form; actions that have one answer
minspect --run main tree || echo "status $?"
minspect --json=lines gone || echo "status $?"
minspect --json=rows tree || echo "status $?"
minspect --run main --json=lines tree/sub/a.so || echo "status $?"
