# JUnit XML: well-formed whatever the names hold, of the form that CI servers read
cc -shared -fPIC -o 'm&.so' "$ROOT/tests/modules/ffi.c"
cat >'<m>.toml' <<'END'
[[case]]
name = "a < b & \"c\" > 'd' \u0001 \uFFFE"
run = "nothing"

[[case]]
run = "crash"

[[case]]
name = "differs"
run = "echo"
args = [{ input = "1" }]
expect = ["2"]

[[case]]
name = "skipped"
run = "nothing"
skip = "<why> & \"so\""

[[case]]
name = "raises"
run = "raise_value_error"
END
minspect --cases '<m>.toml' 'm&.so' --junit out.xml >/dev/null || echo $?
sed 's/time="[0-9]*\.[0-9]*"/time="T"/' out.xml
if command -v xmllint >/dev/null; then
	xmllint --noout --schema "$ROOT/tests/cli/junit.xsd" out.xml 2>xmllint.log || cat xmllint.log
fi
command -v python3 >/dev/null || exit 0
cat >look.py <<'END'
import xml.etree.ElementTree as E
suite = E.parse("out.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
assert suite.get("name") == "<m>.toml" and cases[0].get("classname") == "m&.so"
assert cases[0].get("name") == "a < b & \"c\" > 'd' \\x01 \ufffd", cases[0].get("name")
for kind, word in ("failure", "failures"), ("error", "errors"), ("skipped", "skipped"):
    assert len([c for c in cases if c.find(kind) is not None]) == int(suite.get(word)), kind
assert len(cases) == int(suite.get("tests"))
assert all(float(c.get("time")) >= 0 for c in cases)
END
python3 look.py
# the file cannot be written: that is said, and the status of the cases comes first
minspect --cases '<m>.toml' 'm&.so' --junit none/out.xml >/dev/null || echo $?
