# files and index; what stands in the blob is extracted as it is
minspect --extract out data/formats/07_relax_opencl.so
cd out || exit
find . -type f | LC_ALL=C sort
cat 2-opencl/functions.json
# what stands in the blob is extracted as it is
python3 -c '
import json
blob = open("../data/formats/07_relax_opencl.blob", "rb").read()
stored = [f for f in json.load(open("index.json"))["files"] if "offset" in f]
assert len(stored) == 2
for f in stored:
    data = open(f["name"], "rb").read()
    assert data.endswith(blob[f["offset"]:f["offset"] + f["stored_bytes"]]), f'
