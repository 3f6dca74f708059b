# what no file says has to be given, and what contradicts the cubin is refused with the reason
t=data/triton
refuse() # STATUS ARGUMENT...: fails with the status
{
	status=0 want=$1
	shift
	mpack init "$@" >out || status=$?
	test "$status" = "$want" || echo "exit $status: $*"
}
cp $t/scaled_add.cubin $t/scaled_add.json .
a=scaled_add.cubin
refuse 4 $a --meta scaled_add.json
refuse 4 $a --grid 1
refuse 4 $a --signature '*fp32, *fp32, *fp32, i32' --meta scaled_add.json
refuse 4 $a --signature '*fp32, *fp32, *fp32, i64, fp32' --meta scaled_add.json
refuse 4 $a --signature '*fp32, *fp32, *fp32, i32, fp32, i32, i32, i32' --meta scaled_add.json
refuse 4 $a --signature 'x: float33[n]'
refuse 4 $a --signature '*fp32, , i32'
refuse 2 $a --meta $t/scaled_add.json --block 128
refuse 4 $a --meta $t/scaled_add.json --grid 'n +'
refuse 4 $a --meta $t/scaled_add.json --grid 1,2,3,4
refuse 4 $a --meta $t/record.json
refuse 4 $a --meta $t/__grp__.json
refuse 4 $a --meta data/formats/01_opencl_scale.so
refuse 4 data/tilelang/kernel.cubin --signature '*fp32, *fp32, i32'
refuse 4 data/tilelang/kernel.cubin --meta $t/scaled_add.json
refuse 4 data/launch/kernels.ptx --meta $t/scaled_add.json
refuse 2 $a $a --meta $t/scaled_add.json
refuse 2 data/triton --signature i32
mkdir empty
refuse 4 empty
refuse 3 missing.cubin --meta $t/scaled_add.json
# metadata with another block, another machine, another architecture, descriptors
for change in 's/"num_warps": 4/"num_warps": 8/' 's/"cuda"/"hip"/' 's/"arch": 90/"arch": 80/' \
	's/"tensordesc_meta": \[\]/"tensordesc_meta": [1]/' 's/"shared": 0/"shared": -1/' 's/"num_warps": 4/"num_warps": 64/' \
	's/"name": "scaled_add"/"name": "other"/' 's/"global_scratch_align": 1/"global_scratch_align": 512/' 's/"num_ctas": 1/"num_ctas": {}/' \
	's/^{/{,/'; do
	sed "$change" $t/scaled_add.json >scaled_add.json
	cp $t/scaled_add.ttir .
	refuse 4 $a --meta scaled_add.json
done
mpack build $a -o x.so || echo "exit $?"
# names in a grid are looked at where the manifest is read
mpack build $a --meta $t/scaled_add.json --grid 'm' -o x.so || status=$?
test "$status" = 4 && test ! -e x.so
