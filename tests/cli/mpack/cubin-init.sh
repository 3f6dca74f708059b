# a manifest from what Triton notes beside a cubin: types, hints, the block, shared memory, clusters and scratch memory
for kernel in scaled_add record clustered described; do
	mpack init data/triton/$kernel.cubin --meta data/triton/$kernel.json >$kernel.toml
	mpack check $kernel.toml >check
	sed -n '/^  name /,$p' $kernel.toml
done
# a folder is the same of each cubin in it, and of all their names
mpack init data/triton | grep -E '^(name|id|data)'
