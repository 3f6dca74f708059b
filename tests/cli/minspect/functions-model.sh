# what an executor's functions take, as far as the file tells
minspect --functions data/formats/06_relax_vm.so
minspect --functions data/formats/23_legacy_graph.so data/formats/24_legacy_aot.so | grep -A 3 '^/: '
# the compiled body of a function takes a virtual machine: nobody calls it by its name
mpack unpack -q data/formats/16_relax_vmtir.blob -o unpacked
echo 'int __tvm_ffi___vmtir__main(void *s, const void *a, int n, void *r) { return 0; }' >unpacked/body.c
sed 's/^sources = .*/sources = ["body.c"]/' unpacked/mpack.toml >unpacked/body.toml
mpack build unpacked/body.toml -o body.so
minspect --functions body.so
minspect --json --functions body.so | grep '"call"'
