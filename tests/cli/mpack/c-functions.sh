# a manifest from C alone: it checks, builds on both roads and for every loader, and each type arrives as it was sent
cp "$DATA/launch/cfunctions.c" .
mpack init cfunctions.c | tee mpack.toml
mpack check -v 2>/dev/null
ints='--input -128 --input 255 --input -32768 --input 65535 --input -2147483648 --input 4294967295'
for via in llvm c; do
	mpack build --via=$via -o out.so
	run() { minspect --run "$@"; }
	run axpb out.so --input 3xf32=1,2,3 --out 3xf32 --input 2
	run dot out.so --input 3xf32=1,2,3 --input 3xf64=1,2,3
	run transpose out.so --input 2x3xi16=1,2,3,4,5,6 --out 3x2xi16
	run scale out.so --input 3xf64=1,2,3 --input 0.5
	# shellcheck disable=SC2086
	run all out.so $ints --input -9223372036854775808 --input -1 --input true --input 0.25 --input 2.5 --out 11xi64
	for type in i8 u8 i16 u16 i32 u32 u64 bool f32 f64; do
		run give_$type out.so --input -3
	done
	run give_nothing out.so
	minspect --functions out.so | grep -A 1 '^  dot\|^  give_f32\|^  axpb'
done
# generations whose functions have no prefix: another name than that of the C function
sed 's/^name    = "/&call_/' mpack.toml >old.toml
for abi in legacy ffi-0.21; do
	for via in llvm c; do
		mpack build old.toml --abi=$abi --via=$via -o out.so
		minspect --run call_axpb out.so --input 3xf32=1,2,3 --out 3xf32 --input 2
		minspect --run call_give_f32 out.so --input -3
		minspect --run call_give_bool out.so --input 3
	done
done
