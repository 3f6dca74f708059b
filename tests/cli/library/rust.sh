# the library from Rust, by declarations of its functions
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
rustc --version >/dev/null 2>&1 || { echo "rustc is not installed"; exit 77; }
rustc -O -o call "$ROOT/tests/embed/call.rs" -L "$sdk/lib" -l mpk-run
LD_LIBRARY_PATH=$sdk/lib ./call data/relax/gelu.so
# and by its package, which has no dependencies
rustc -O --edition 2021 --crate-type rlib --crate-name mpk_run -D warnings -o libmpk_run.rlib "$ROOT/lib/rust/src/lib.rs"
rustc -O --edition 2021 -D warnings -o application "$ROOT/tests/embed/application.rs" --extern mpk_run=libmpk_run.rlib -L "$sdk/lib" -l mpk-run
gunzip -c data/relax/decoder.so.gz >decoder.so
LD_LIBRARY_PATH=$sdk/lib ./application data/relax/registered.so decoder.so
# programs that are written in C and C++, too, and a plug-in that comes and goes
programs=$ROOT/tests/embed/programs
rustc -O --edition 2021 -D warnings -o program "$programs/program.rs" --extern mpk_run=libmpk_run.rlib -L "$sdk/lib" -l mpk-run
for call in 'classify data/legacy/mlp_llvm.so' 'generate decoder.so saved begin' 'generate decoder.so saved go-on' 'serve decoder.so'; do
	# shellcheck disable=SC2086 # words
	LD_LIBRARY_PATH=$sdk/lib ./program $call
done
rustc -O --edition 2021 -D warnings --crate-type cdylib -o plugin.so "$programs/plugin.rs" --extern mpk_run=libmpk_run.rlib \
	-C link-arg="$sdk/lib/libmpkrun-pic.a" -C link-arg=-lm
cc -o host "$programs/host.c" -ldl
./host ./plugin.so data/legacy/mlp_llvm.so
