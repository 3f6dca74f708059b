# the gate for a CI: a test for each kernel, a failure for each that got worse, an error for a file that
# was not compared
cp data/cuda/cubin/vadd_cuda.so lib.so
minspect --baseline base.json --update-baseline lib.so data/cuda/cubin/saxpy_cuda.so >measured
sed 's/"registers": 1[0-9]/"registers": 8/' base.json >low.json
minspect --baseline low.json --junit out.xml lib.so missing.so data/cuda/cubin/saxpy_cuda.so || echo "status $?"
cat out.xml
if command -v xmllint >/dev/null; then
	xmllint --noout --schema "$ROOT/tests/cli/junit.xsd" out.xml 2>xmllint.log || cat xmllint.log
fi
minspect --baseline low.json --update-baseline --junit no.xml lib.so || echo "status $?"
test ! -e no.xml
