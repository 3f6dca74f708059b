# one comment of a pull or merge request, which is renewed; a service that fails, a fork, and limits that are passed
build() { # build NAME FOLDER: a library with the cubin of that name
	cat >$1.toml <<END
[package]
name = "sums"
[[module]]
id = "kernels"
kind = "cuda"
format = "cubin"
data = "$DATA/device/$1.sm_90.cubin"
[[module.function]]
name = "sums"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
END
	mkdir -p $2
	mpack build $1.toml -o $2/sums.blob
}
build sums last
build sums_spill new
python3 "$ROOT/tests/fakes/review_service.py" port log &
service=$!
trap 'kill $service' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -s port ] || sleep 0.3
done
url=http://127.0.0.1:$(cat port)
echo '{"pull_request": {"number": 5}}' >event.json
export LIBRARIES=new/sums.blob BEFORE=last RETRY_SECONDS=0 PYTHONDONTWRITEBYTECODE=1
github() { env GITHUB_EVENT_PATH=event.json GITHUB_API_URL=$url GITHUB_REPOSITORY=owner/repo "$@"; }
gitlab() { env CI_API_V4_URL=$url/api/v4 CI_PROJECT_ID=42 CI_MERGE_REQUEST_IID=5 "$@"; }
# try SERVICE VARIABLE=VALUE...: its status, the last line about the comment, and the requests
try()
{
	status=0
	: >log
	"$@" "$ROOT/scripts/ci/review" >said 2>&1 || status=$?
	echo "$*: status $status"
	grep '^review:' said | sed 's/:[0-9][0-9]*\//:PORT\//'
	jq -r '[.[0], .[1], (.[2] // "" | split("\n")[0:3] | join(" "))] | join(" ")' log
}
for service_name in github gitlab; do
	try $service_name TOKEN=good
	try $service_name TOKEN=good
	try $service_name TOKEN=once
	try $service_name TOKEN=broken
	try $service_name TOKEN=wrong
	try $service_name TOKEN=read
	try $service_name TOKEN=
	grep -c '^| `new/sums.blob` |' said
done
cat mpack-review.md | grep -v nvdisasm
echo '{}' >event.json
try github TOKEN=good
# limits: each fails the job, and the comment says which
limits() { echo "$1" >limits.json && try github TOKEN=good LIMITS=limits.json && sed -n '/, limits:/,/^$/d;1,/^$/d;/^### /q;/^|/p' mpack-review.md; }
limits '{"schema_version": 1, "files": [], "tolerance": {"file_bytes": 100, "blob_bytes": 100, "code_bytes": 100}}'
limits '{"schema_version": 1, "files": [], "tolerance": {"stack_bytes": 1e9, "file_bytes": 100, "blob_bytes": 100, "code_bytes": 100}}'
limits '{"schema_version": 1, "files": [], "tolerance": {"file_bytes": 100, "blob_bytes": 100, "code_bytes": 100, "stack_bytes": 10}, "most": {"stack_bytes": 64}, "least": {"occupancy_percent": 100}, "keep": ["targets"]}'
limits '{"schema_version": 1, "files": [], "least": {"speed": 1}}'
# a library that is new has its limits alone
BEFORE="" try github TOKEN=good LIMITS=limits.json
echo '{"schema_version": 1, "files": [], "most": {"registers": 16}}' >limits.json
BEFORE="" try github TOKEN=good LIMITS=limits.json
# wheels of two releases are one library; the comment has no more than the service takes
python3 - <<END
import os
import runpy
review = runpy.run_path("$ROOT/scripts/ci/review")
os.makedirs("wheels")
for name in ("a-1.0-py3-none-any.whl", "a-1.1-py3-none-any.whl", "b-1.0-py3-none-any.whl"):
    open("wheels/" + name, "w").close()
print([review["older_of"]("new/%s-1.2-py3-none-any.whl" % name, "wheels") for name in "ac"])
print(review["fit"](["# head\n", "x" * 50, "y" * 500, "z"], 300))
END
