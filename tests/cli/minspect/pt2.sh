# a package of PyTorch, what AOTInductor writes: its library and kernels like any others, weights by name and size
# without what compilers and systems add, whose sizes differ
echo 'int f(void) { return 1; }' | cc -shared -nostdlib -fno-ident -Wl,-s,--build-id=none -x c -o m.so -
python3 - <<'END'
import json, zipfile
def write(path, root, version):
    with zipfile.ZipFile(path, "w") as z:
        def add(name, content):
            z.writestr(root + name, content)
        add("archive_format", "pt2")
        add(version, "0\n")
        add("byteorder", "little")
        add("data/aotinductor/model/c1.so", open("m.so", "rb").read())
        add("data/aotinductor/model/k1.cubin", open("data/device/two.sm_90.cubin", "rb").read())
        add("data/aotinductor/model/k2.hsaco", open("data/gpu/mix.gfx90a.hsaco", "rb").read())
        add("data/aotinductor/model/c1_metadata.json", json.dumps({"AOTI_DEVICE_KEY": "cuda"}))
        add("data/weights/weight_0", bytes(4096))
        add("data/weights/weight_1", bytes(64))
        add("data/weights/model_weights_config.json", json.dumps({"config": {
            "fc.weight": {"path_name": "weight_0", "is_param": True, "use_pickle": False},
            "fc.bias": {"path_name": "weight_1", "is_param": True, "use_pickle": False},
            "gone": {"path_name": "weight_9"}}}))
        add("data/constants/tensor_0", bytes(16))
        add("data/constants/custom_obj_0", b"x")
        add("data/constants/model_constants_config.json", json.dumps({"scale": "tensor_0"}))
        add("data/sample_inputs/model.pt", b"PK")
        add("models/model.json", "{}")
write("m.pt2", "m/", ".data/version")
write("flat.pt2", "", "archive_version")
with zipfile.ZipFile("no.zip", "w") as z:
    z.writestr("archive_format", "other")
    z.writestr("k.cubin", open("data/device/two.sm_90.cubin", "rb").read())
with zipfile.ZipFile("odd.pt2", "w") as z:
    z.writestr("archive_format", "pt2")
    z.writestr("data/weights/weight_0", b"1234")
    z.writestr("data/weights/a_config.json", '{"config": ')
    z.writestr("data/weights/b_config.json", '[1, {"path_name": "weight_0"}]')
    z.writestr("data/weights/c_config.json", '{"config": {"n": {"path_name": 5}, "o": 1}}')
    z.writestr("k.cubin", open("data/device/two.sm_90.cubin", "rb").read())
END
minspect m.pt2
minspect flat.pt2 | head -n 1
minspect no.zip odd.pt2
minspect --json m.pt2 | jq -c '.files[] | .container, .package.version, (.package.parts[] | [.role, .name, .bytes])'
minspect --functions m.pt2
minspect --verify m.pt2
minspect --check --device-arch sm_90 m.pt2 || echo "status $?"
