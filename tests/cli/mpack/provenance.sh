# --provenance: what a library was made from, the same wherever and whenever it is built, without paths.
command -v openssl >/dev/null || { echo "openssl is not installed"; exit 77; }
openssl genpkey -algorithm ed25519 -out key.pem
mkdir "alice's home" elsewhere
cp -r "$DATA/example" "alice's home/src"
cp -r "$DATA/example" elsewhere/src
cd elsewhere || exit
build() { mpack build "$1" -o "$2" --provenance --cflag -I"$PWD/include" --cflag -DN=1 --cflag -I --cflag "$PWD"; }
build src/mpack.toml a.so
cd "../alice's home" || exit
build src/mpack.toml ../b.so
cd .. || exit
cmp elsewhere/a.so b.so && echo "the same from elsewhere"
grep -c -a -i -e alice -e "$(id -un)@" -e "$PWD" b.so || echo "no names of places"
mpack build data/example/mpack.toml -o c.so --provenance --sign key.pem --check-repro && echo "reproducible"
minspect -v b.so | sed -n '/made by/,/^$/p'
minspect b.so | grep 'made by'
sha256sum data/example/vadd.ptx | cut -d' ' -f1 >sum
minspect --json b.so | grep -c -f sum
minspect --verify b.so

echo "# an object from a blob; no compiler had a part in it"
mpack build data/formats/01_opencl_scale.blob -o a.o --provenance
minspect -v a.o | sed -n '/made by/,/^$/p'

echo "# an edit takes it out; with a base it is of the new build"
mpack edit b.so -o edited.so --replace /0=data/example/vadd.ptx
minspect edited.so | grep -c 'made by' || true
mpack unpack b.so -o parts
mpack build parts/mpack.toml -o based.so --provenance
minspect -v based.so | sed -n '/made by/,/^$/p' | sed 's/sha256 [0-9a-f]*/sha256 DIGEST/; s/base.so, .*/base.so, SIZE/'
mpack build parts/mpack.toml -o based.so
minspect based.so | grep -c 'made by' || true

echo "# standard input"
mpack build - -o stdin.o --provenance <data/formats/01_opencl_scale.blob
minspect -v stdin.o | grep sha256
