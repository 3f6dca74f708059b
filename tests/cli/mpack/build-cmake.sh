# find_package(mpack): a build of nothing does nothing, one changed kernel packs one package, two folders the same bytes
for tool in cmake ninja cc; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
configure()
{
	cmake -G Ninja -S "$ROOT/tests/build/cmake" -B "$1" -Dmpack_DIR="$ROOT/scripts/cmake" -DMPACK_EXECUTABLE="$BIN/mpack" \
		-DCOUNT=5 -DCMAKE_INSTALL_PREFIX="$PWD/installed" >log 2>&1 || { cat log; exit 1; }
}
# packed FOLDER: how many packages ninja makes
packed()
{
	ninja -C "$1" -v >log 2>&1 || { cat log; exit 1; }
	echo "$(grep -c 'mpack build' log) packed"
}
configure one
packed one
packed one
sed -i 's/\*=/+=/' one/package3/scale.cl
packed one
minspect --show /0 one/package3.so | grep -o '+= 3'
configure two
packed two
cmp one/package1.so two/package1.so && echo "the same bytes in another folder"
cmake --install one >log 2>&1 && ls installed/lib
# a word that the function does not know
printf 'cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES NONE)\nfind_package(mpack REQUIRED)\nmpack_add_library(a a.toml STANDALON)\n' >CMakeLists.txt
cmake -S . -B three -Dmpack_DIR="$ROOT/scripts/cmake" -DMPACK_EXECUTABLE="$BIN/mpack" 2>&1 | grep -o 'mpack_add_library(a): .*'
