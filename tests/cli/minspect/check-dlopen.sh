# what check says of 40 made libraries is what dlopen does with them, at once and lazily (tests/loader/compare.py --count 500)
[ "$(uname -m)" = x86_64 ] || { echo "the libraries are made for x86-64"; exit 77; }
[ -e /lib64/ld-linux-x86-64.so.2 ] || { echo "the rules are those of glibc"; exit 77; }
python3 "$ROOT/tests/loader/compare.py" --count 40 --seed 3 | sed 's/ dlopen refuses .*; check/ check/'
