# rows for a spreadsheet: RFC 4180, one head for all files, and names that no spreadsheet computes
minspect --size --csv data/cuda/cubin/vadd_cuda.so data/formats/08_const_loader.blob data/embedded/embedded.so >sizes.csv
python3 - <<'END'
import csv
raw = open("sizes.csv", newline="").read()
assert raw.endswith("\r\n") and raw.count("\n") == raw.count("\r\n")
rows = list(csv.DictReader(open("sizes.csv", newline="")))
print(*rows[0].keys())
for r in rows:
    if r["row"] != "section":
        print({k: v for k, v in r.items() if v})
print(sum(r["row"] == "section" for r in rows), "sections")
END
# a parameter called "=1+1", and one with a comma and a quote
python3 - <<'END'
data = open("data/formats/08_const_loader.blob", "rb").read()
at = data.index(b"\x01\0\0\0\0\0\0\0w")
open("formula.blob", "wb").write(data[:at + 8] + b"=" + data[at + 9:])
open("quote.blob", "wb").write(data[:at + 8] + b'"' + data[at + 9:])
END
minspect --size --csv formula.blob quote.blob | tr -d '\r' | grep -E 'tensor'
minspect --size --csv --json formula.blob 2>&1 || echo "status $?"
