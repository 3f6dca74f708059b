# tensors in OpenCL images, against results of TVM's own OpenCL runtime
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
run() {
	name=$1
	shift
	minspect --run main "data/texture/$name.so" "$@" --expect "@data/texture/$name.out0.npy" \
		--atol 0 --rtol 0 >/dev/null
	echo "$name"
}
given() { echo "$2=@data/texture/$1.in0.npy"; }
run param_t2b_float32 --input "$(given param_t2b_float32 '8x16x4xf32{texture}')" --out 8x16x4xf32
run fixed_b2t_float32 --input "$(given fixed_b2t_float32 8x16x4xf32)" --out '8x16x4xf32{texture}'
run fixed_t2t_float32 --input "$(given fixed_t2t_float32 '8x16x4xf32{texture}')" \
	--out '8x16x4xf32{global.texture}'
run t2b5_act_float32 --input "$(given t2b5_act_float32 '1x3x6x5x4xf32{texture}')" --out 1x3x6x5x4xf32
run t2b5_weight_float32 --input "$(given t2b5_weight_float32 '2x3x3x3x4xf32{texture-weight}')" \
	--out 2x3x3x3x4xf32
run t2b5_nhwc_float32 --input "$(given t2b5_nhwc_float32 '1x6x5x3x4xf32{texture-nhwc}')" \
	--out 1x6x5x3x4xf32
run fixed_relaxvm_texture --input "$(given fixed_relaxvm_texture 8x16x4xf32)" --repeat 3
# a buffer where an image belongs was a crash of the driver
wrong() { minspect --run "$@" 2>&1 || echo "status $?"; }
t2b=data/texture/param_t2b_float32.so
wrong main $t2b --input 8x16x4xf32 --out 8x16x4xf32
wrong main $t2b --input '8x16x4xf32{texture}' --out '8x16x4xf32{texture}'
wrong main_kernel $t2b --grid 1 --block 128 --input 8x16x4xf32 --input 8x16x4xf32
wrong main $t2b --input '8x16x4xf32{textur}'
wrong main $t2b --input '8x16x4xf32{image}'
wrong main $t2b --input '8x16x4xf32{texture'
wrong main $t2b --input '8x16x4xf32{texture}1'
wrong main $t2b --input 'f32{texture}=1'
# in a case: what is typed is held to the function's signature before
cat >wide.toml <<'END'
[[case]]
run = "main"
args = [{ input = "8x16x8xf32{texture}" }, { out = "8x16x8xf32" }]
END
minspect --cases wide.toml $t2b || echo "status $?"
