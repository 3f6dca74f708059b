# changed kernels have other digests, rebuilt libraries the same: with nvcc as it is installed here
python3 "$ROOT/tests/rebuilds/judge.py" --minspect "$(command -v minspect)" --compiler nvcc --quick --changes 18 --rebuilds 2 >judged || status=$?
! grep -q 'not installed' judged || { echo "nvcc is not installed"; exit 77; }
cat judged
exit "${status:-0}"
