# The same for what TVM 0.18 wrote, which is not in the repository.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
fixtures=$ROOT/../shared/fixtures
test -d "$fixtures/legacy" || { echo "the files of TVM 0.18 are not here"; exit 77; }
# shellcheck disable=SC2046
PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/tests/manual/compare.py" "$fixtures"/legacy/*.so \
	$(find "$fixtures/formats" -name '*_legacy_*.blob' | sed 's/^/legacy:/')
