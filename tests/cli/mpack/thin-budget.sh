# a packed cubin that unpacks to as much as the account allows, and would be there twice more: the account says so
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 - "$ROOT/tests" <<'END'
import sys

sys.path[:0] = [sys.argv[1] + "/large", sys.argv[1] + "/fuzz"]
import bombs

with open("pairs.so", "wb") as f:
    f.write(bombs.section(".nv_fatbin", bombs.images(2, bombs.cubin(), 100 << 20, 2)))
END
mpack thin pairs.so -o t.so --drop-debug || echo "status $?"
test ! -e t.so
