# --devices lists what --device can name, and says for each module of a file whether it runs
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
mkdir none
export OCL_ICD_VENDORS="$PWD/none" LD_LIBRARY_PATH="$fakes" FAKE_CUDA_DEVICES=2 FAKE_CUDA_SM=89
minspect --devices data/cuda/ptx/vadd_cuda.so data/cuda/cubin/vadd_cuda.so data/formats/05_webgpu.blob \
	data/cuda/vadd_opencl.so data/formats/14_llvm_noblob.so | grep -v '^cpu'
minspect --devices --json data/cuda/cubin/vadd_cuda.so >devices.json || echo "exit $?"
python3 - "$ROOT/man/schema/minspect-devices.schema.json" <<'END'
import json, sys
document = json.load(open("devices.json"))
print([d["kind"] for d in document["devices"]], [d["kind"] for d in document["unavailable"]])
print(document["files"][0]["modules"])
try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit()
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
Draft202012Validator(schema).validate(document)
END
