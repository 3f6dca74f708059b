# what calls of models take, over time
minspect memory data/relax/gelu.so
minspect memory --shape m=1000 data/relax/gelu_dyn.so
minspect memory data/relax/twoout_dyn.so --all
gunzip -c data/relax/decoder.so.gz >decoder.so
minspect memory decoder.so --shape max_batch_size=2 --shape max_total_seq_len=256 --shape page_size=16 --shape prefill_chunk_size=32 \
	--shape support_sliding_window=0 --shape seq_len=32 --shape n=32
minspect memory --filter prefill decoder.so | head -n 4
minspect memory --json --shape b=5 data/relax/twoout_dyn.so | jq -c '.files[0].models[0] | .need_bytes, .unknown, (.functions[] | [.name, .extents, .peak_bytes, .steps[.peak_step].name, .result_bytes])'
# a graph, and what cannot be followed
minspect memory data/legacy/mlp_llvm.so
minspect memory data/legacy/mlp_aot.so data/legacy/mlp_vm.so data/relax/registered_compiled.so data/formats/14_llvm_noblob.so
minspect memory --shape q=3 data/relax/gelu_dyn.so | head -n 2
# a budget
minspect check --only memory --memory 16KiB data/relax/gelu.so
minspect check --only memory --memory 15KiB data/relax/gelu.so || echo "status $?"
minspect check --only memory --memory 1MiB data/relax/gelu_dyn.so || echo "status $?"
minspect check --only memory --memory 1MiB --shape m=100 data/relax/gelu_dyn.so
minspect check --only memory --memory 1MiB --shape m=10000 data/relax/gelu_dyn.so || echo "status $?"
minspect check --only memory --memory 1MiB data/relax/registered_compiled.so || echo "status $?"
minspect check --memory lots data/relax/gelu.so || echo "status $?"
minspect check --shape n=3 data/relax/gelu.so || echo "status $?"
minspect memory --shape n data/relax/gelu.so || echo "status $?"
minspect memory --shape n=1 --shape n=2 data/relax/gelu.so || echo "status $?"
