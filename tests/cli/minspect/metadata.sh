# what a language model's library says of itself to an engine, and what a runtime lacks of that
gunzip -c data/relax/decoder.so.gz >decoder.so
minspect decoder.so | grep '^  model'
minspect --json decoder.so | sed -n '/"metadata"/,/^  }/p' | head -n 16
minspect --check --tvm 0.27 decoder.so
sed 's/"tensor_parallel_shards": 1/"tensor_parallel_shards": 8/; s/"disaggregation": false/"disaggregation": true /
	s/"sliding_window_size": -1/"sliding_window_size": 48/' decoder.so >shards.so
minspect shards.so | grep '^  model'
minspect --check --tvm 0.27 shards.so
# no object, and numbers that are none: what is left is shown
sed 's/{"model_type": "llama"/["model_type", "llama"/' decoder.so >list.so
minspect list.so | grep '^  model' || echo none
sed 's/"max_batch_size": 4/"max_batch_size": x/' decoder.so >bad.so
minspect bad.so | grep '^  model' || echo none
# another name of the function: a text like any other
sed 's/_metadata/_metodata/g' decoder.so >other.so
minspect other.so | grep '^  model' || echo none
