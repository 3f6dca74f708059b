# what is no baseline, or fits no file, says so; a failed update leaves the old one
run() {
	echo "\$ minspect $*"
	minspect "$@" 2>&1 || echo "status $?"
}
file=data/formats/01_opencl_scale.so
run --baseline missing.json $file
echo '{"schema_version": 1, "files": [' >broken.json
run --baseline broken.json $file
echo '{"schema_version": 2, "files": []}' >later.json
run --baseline later.json $file
echo '{"schema_version": 1, "tolerance": {"speed": 1}, "files": []}' >speed.json
run --baseline speed.json $file
echo '{"schema_version": 1, "tolerance": {"registers": -1}, "files": []}' >less.json
run --baseline less.json $file
echo '{"schema_version": 1, "files": [{"file": "a", "file_bytes": 1, "blob_bytes": 1, "kernels": [{"path": "/", "name": "k", "target": 3}]}]}' >type.json
run --baseline type.json $file
echo '{"schema_version": 1, "files": []}' >empty.json
run --baseline empty.json $file
mkdir a b
cp $file a
cp $file b
run --baseline empty.json --update-baseline a/01_opencl_scale.so b/01_opencl_scale.so
run --baseline empty.json --update-baseline missing.so
cat empty.json
run --baseline empty.json --tolerance -1 $file
run --tolerance 1 $file
run --update-baseline $file
run --baseline nowhere/new.json --update-baseline $file
