# a program of C++ finds the library through CMake, shared and static, also after the folder was moved
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cmake >/dev/null || { echo "cmake is not installed"; exit 77; }
cp -R "$sdk" moved
cmake -S "$ROOT/tests/embed" -B build -Dmpk-run_DIR="$PWD/moved/lib/cmake/mpk-run" >log 2>&1 &&
	cmake --build build >>log 2>&1 || { cat log; exit 1; }
for program in raii raii-static; do
	build/$program data/relax/gelu.so
done
build/application data/relax/registered.so
# a cache in another process, and one that was cut
gunzip -c data/relax/decoder.so.gz >decoder.so
build/resume decoder.so saved begin
build/resume decoder.so saved go-on
head -c 700 saved >half
build/resume decoder.so half go-on || echo "status $?"
# pkg-config --static gives what a static program links
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_PATH=moved/lib/pkgconfig pkg-config --cflags --static --libs mpk-run)
	# shellcheck disable=SC2086 # words
	c++ -std=c++17 -DMPKR_STATIC -static -o whole "$ROOT/tests/embed/raii.cc" $flags 2>log && ls whole || cat log
fi
# the static one needs no file of ours, and exports nothing
rm -r moved
build/raii-static data/relax/gelu.so | head -n 1
! nm -D --defined-only build/raii-static | grep -E 'mpk'
