# Through every output and back.
for blob in data/formats/*.blob; do
	for out in x.so x.o x.a x.tar x.blob; do
		mpack build "$blob" -o "$out"
		minspect --json "$out" | grep -o '"nbytes": *[0-9]*' | head -n 1 >out.txt || true
		minspect --json "$blob" | grep -o '"nbytes": *[0-9]*' | head -n 1 >blob.txt || true
		cmp out.txt blob.txt
	done
done
