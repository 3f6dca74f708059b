# an action is a word: as its option is, also behind options; with its value behind it, and what is a file nevertheless
look() { echo "\$ minspect $*"; minspect "$@" 2>&1 || echo "status $?"; }
same()
{
	minspect $1 >as-option
	minspect $2 >as-word
	cmp as-option as-word && echo "$2"
}
cp data/formats/06_relax_vm.so m.so
cp data/formats/07_relax_opencl.so n.so
same "--verify m.so" "verify m.so"
same "--json m.so" "json m.so"
same "--size --json m.so n.so" "--json size m.so n.so"
same "--functions --filter main m.so" "functions m.so --filter main"
same "--run main m.so --input 4xf32=1,2,3,4" "run main m.so --input 4xf32=1,2,3,4"
same "--run main m.so --input 4xf32=1,2,3,4" "run --input 4xf32=1,2,3,4 main m.so"
same "--show /#main m.so" "show /#main m.so"
same "--disasm=main m.so" "disasm main m.so"
same "--sbom m.so" "sbom m.so"
same "--sbom=spdx m.so" "sbom spdx m.so"
same "--dot model m.so" "dot model m.so"
same "--explain device" "explain device"
same "--version" "version"
look diff m.so n.so | sed 3q
look check --tvm 0.27 m.so | sed 's/; checked.*//'

echo "-- no folder decides what a line means"
mkdir size
look verify m.so
cp m.so verify
cp n.so functions
look verify m.so
look functions m.so | sed 2q
echo "-- a file of such a name"
look ./verify | sed 2q
look verify | sed 2q
look --verify verify m.so
look size
look --verify functions
look --verify size m.so
echo "-- a mistake"
look run main
look run
look diff m.so
look html --json m.so
look verify --run main m.so
look html a.html --html b.html m.so
