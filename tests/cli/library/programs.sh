# programs written from the header alone, in C and C++: a classifier, a generator, a server, a plug-in that comes and goes
sdk=$(dirname "$BIN")/sdk programs=$ROOT/tests/embed/programs
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v c++ >/dev/null || { echo "c++ is not installed"; exit 77; }
export LD_LIBRARY_PATH=$sdk/lib
gunzip -c data/relax/decoder.so.gz >decoder.so
cc -std=gnu17 -Wall -Wextra -I"$sdk/include" -o program-c "$programs/program.c" -L"$sdk/lib" -lmpk-run -pthread
c++ -std=c++17 -Wall -Wextra -I"$sdk/include" -o program-c++ "$programs/program.cc" -L"$sdk/lib" -lmpk-run -pthread
for program in program-c program-c++; do
	./$program classify data/legacy/mlp_llvm.so
	./$program generate decoder.so saved begin
	./$program generate decoder.so saved go-on
	./$program serve decoder.so
done
cc -std=gnu17 -Wall -Wextra -o host "$programs/host.c" -ldl
cc -std=gnu17 -Wall -shared -fPIC -DMPKR_STATIC -I"$sdk/include" -o plugin-c.so "$programs/plugin.c" "$sdk/lib/libmpkrun-pic.a" -lm
c++ -std=c++17 -Wall -shared -fPIC -DMPKR_STATIC -I"$sdk/include" -o plugin-c++.so "$programs/plugin.cc" "$sdk/lib/libmpkrun-pic.a" -lm
for plugin in ./plugin-c.so ./plugin-c++.so; do
	./host $plugin data/legacy/mlp_llvm.so
done
