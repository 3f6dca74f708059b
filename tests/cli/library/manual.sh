# the examples of mpk-run(3), built and run as the page says, with the library that has caches
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 77; }
export PKG_CONFIG_PATH="$sdk/lib/pkgconfig" LD_LIBRARY_PATH="$sdk/lib"
sh "$ROOT/scripts/check-readme" --doc man/mpk-run.3 "$BIN" >log || { cat log; exit 1; }
tail -n 1 log
