# A wheel, a folder or several files make one bill of materials, in which every library has its own references. What
# could not be read is said, and the document is whole all the same.
python3 - <<'PY'
import zipfile
with zipfile.ZipFile("a.whl", "w") as z:
    for name, library in ("p/one.so", "01_opencl_scale"), ("q/one.so", "02_cuda_source_dynshmem"), ("q/bad.so", "05_webgpu"):
        data = open("data/formats/%s.%s" % (library, "blob" if library[:2] == "05" else "so"), "rb").read()
        z.writestr(name, data[:600] if name == "q/bad.so" else data)
PY
mkdir -p folder/sub
cp data/formats/01_opencl_scale.so folder/a.so
cp data/formats/02_cuda_source_dynshmem.so folder/sub/b.so
judge() {
	python3 - "$@" <<'PY'
import json, subprocess, sys
form, *files = sys.argv[1:]
done = subprocess.run(["minspect", "--sbom=" + form, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
assert done.stdout == subprocess.run(["minspect", "--sbom=" + form, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
d = json.loads(done.stdout)
print(form, *files, "status", done.returncode)
if form == "cyclonedx":
    refs = [c["bom-ref"] for c in d["components"]] + [c["bom-ref"] for l in d["components"] for c in l["components"]]
    if "component" in d["metadata"]:
        refs.append("archive")
        print("  about", d["metadata"]["component"]["name"])
    for l in d["components"]:
        print("  ", l["bom-ref"], l["name"], *(c["bom-ref"] for c in l["components"]))
    named = {x["ref"] for x in d["dependencies"]} | {r for x in d["dependencies"] for r in x["dependsOn"]}
    assert d["serialNumber"].startswith("urn:uuid:")
else:
    refs = [p["SPDXID"] for p in d["packages"]] + ["SPDXRef-DOCUMENT"]
    for p in d["packages"]:
        print("  ", p["SPDXID"], p["name"], p.get("packageFileName", "-"))
    named = {r[k] for r in d["relationships"] for k in ("spdxElementId", "relatedSpdxElement")}
    assert d["documentNamespace"].startswith("https://spdx.org/spdxdocs/minspect-")
    described = [r["relatedSpdxElement"] for r in d["relationships"] if r["relationshipType"] == "DESCRIBES"]
    print("  describes", *described)
assert len(refs) == len(set(refs)), refs
assert named <= set(refs), named - set(refs)
PY
}
for form in cyclonedx spdx; do
	judge $form a.whl
	judge $form folder
	judge $form folder/a.so data/formats/02_cuda_source_dynshmem.so
	judge $form 'a.whl!/p/one.so' folder/a.so
done
minspect --sbom a.whl missing.so >d.json || echo "status $?"
python3 -c 'import json; print(len(json.load(open("d.json"))["components"]), "libraries")'
minspect --attestation --builder urn:x a.whl || echo "status $?"
