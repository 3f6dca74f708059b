# what goes with --cases and what does not
printf '[[case]]\nrun = "add"\n' >m.toml
lib=data/formats/14_llvm_noblob.so
try() {
	minspect "$@" || echo $?
}
try --cases m.toml $lib --input 5
try --cases m.toml $lib --expect 5
try --cases m.toml $lib --repeat 5
try --cases m.toml $lib --shared 5
try --cases m.toml $lib --tap --json
try --cases m.toml $lib --atol x
try --cases m.toml $lib $lib
try --cases m.toml -
try --cases m.toml --run add $lib
try --run add $lib --tap
try --junit out.xml $lib
try --run main $lib --weights p.bin
