# Names of a file command no terminal: in symbols, functions, libraries and texts that are looked up
export LC_ALL=C
mkdir libs
cat >evil.c <<'END'
extern int absent_OSC_(void), c1_C1_(void), bidi_BID_(void), TVMFFI_CSI_X(void);
int (*__TVMBackend_CSI_)(void) = 0;
extern int TVMFFIEnvModLookupFromImports(void *, const char *, void **);
int __tvm_ffi_f_OSC_(void *s, void *a, int n, void *r)
{
	void *p;
	return absent_OSC_() + c1_C1_() + bidi_BID_() + TVMFFI_CSI_X() + __TVMBackend_CSI_() +
	       TVMFFIEnvModLookupFromImports(s, "my_CSI_.function", &p) +
	       TVMFFIEnvModLookupFromImports(a, "own_C1_.function", &p);
}
END
echo 'int needed(void) { return 0; }' >needed.c
# poison FILE: what stands for control sequences becomes such, of the same lengths
poison()
{
	esc=$(printf '\033')
	sed -i -e "s/_OSC_/${esc}]0;$(printf '\007')/g" -e "s/_CSI_/${esc}[31m/g" -e "s/_C1_/$(printf '\302\233')1m/g" \
		-e "s/_BID_/$(printf '\342\200\256')xx/g" "$1"
}
cc -w -shared -fPIC -nostdlib -Wl,-soname,lib_CSI_.so needed.c -o needed.so
cc -w -O1 -shared -fPIC -nostdlib evil.c -o evil.so
cc -w -O1 -shared -fPIC -nostdlib -Wl,--no-as-needed evil.c -o needs.so ./needed.so
poison evil.so
poison needs.so
looked=0
for place in "--tvm 0.27" "--tvm ffi" "--runtime needed.so" "--tvm 0.27 --libs libs" "--libs libs"; do
	for file in evil.so needs.so; do
		for form in "" --json; do
			# shellcheck disable=SC2086 # lists of words
			minspect --check $place $form "$file" >out 2>err || test $? -eq 1
			cat err >>out
			if tr -d '\n\40-\176' <out | grep -q .; then
				echo "$place $form $file: control characters"
				cat -v out
			fi
			looked=$((looked + $(grep -c 'x1b' out || true)))
		done
	done
done
test $looked -gt 10 || echo "no name was printed"
