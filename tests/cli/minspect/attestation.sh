# What --attestation and --sbom refuse, and a statement of a library that has provenance.
try()
{
	status=0
	minspect "$@" 2>&1 || status=$?
	echo "= $status"
}
lib=data/formats/01_opencl_scale.so
try --attestation $lib
try --attestation --builder nobody $lib
try --attestation=slsa --builder https://example.com/ci $lib
try --attestation --builder https://example.com/ci $lib
try --builder https://example.com/ci $lib
try --sbom=swid $lib
try --attestation --builder urn:x $lib $lib
try --sbom none.so
try --sbom --verify $lib
mpack build data/example/mpack.toml -o deploy.so --provenance
try --attestation --builder https://example.com/ci deploy.so
