# what a case keeps is an argument of later ones: objects, too, and items of tuples; mistakes have their place
lib=$DATA/formats/14_llvm_noblob.so
cat >keep.toml <<'END'
[[case]]
name = "pair"
run = "vm.builtin.make_tuple"
args = [{ input = "2xf32=1,2" }, { input = "shape=2,3" }]
expect = ["2xf32=1,2", "shape=2,3"]
keep = "pair"

[[case]]
name = "item"
run = "vm.builtin.copy"
args = [{ input = "$pair[1]" }]
expect = ["shape=2,3"]

[[case]]
name = "tuple"
run = "vm.builtin.tuple_getitem"
args = [{ input = "$pair" }, { input = "0" }]
expect = ["2xf32=1,2"]
keep = "first"

[[case]]
name = "cache"
run = "vm.builtin.attention_kv_cache_create"
args = [{ input = "1x2xf32=5,6" }, { input = "shape=1,2" }, { input = "-1" }]
keep = "cache"

[[case]]
name = "append"
run = "vm.builtin.attention_kv_cache_append"
args = [{ input = "$cache" }, { input = "2x2xf32=1,2,3,4" }]

[[case]]
name = "view"
run = "vm.builtin.attention_kv_cache_view"
args = [{ input = "$cache" }]
expect = ["3x2xf32=5,6,1,2,3,4"]

[[case]]
name = "no item"
run = "vm.builtin.copy"
args = [{ input = "$pair[2]" }]
raises = "'$pair' has no item 2: it is array"

[[case]]
name = "no cache"
run = "vm.builtin.attention_kv_cache_view"
args = [{ input = "$pair" }]
raises = "argument 0 must be a cache of one tensor, not array"

[[case]]
name = "kept by none that was called"
run = "vm.builtin.copy"
args = [{ input = "$never" }]
raises = "there is no '$never'"

[[case]]
name = "fails"
run = "vm.builtin.attention_kv_cache_view"
args = [{ input = "$first" }]
keep = "never"
skip = "only its name is wanted"
END
awk 'BEGIN { RS = ""; ORS = "\n\n" } !/kept by none/' keep.toml >good.toml
minspect --cases good.toml "$lib"
# each isolated call has its own process
minspect --isolate --cases good.toml --filter view "$lib" || echo $?
# a name that no call of this process kept
minspect --cases keep.toml "$lib"
cat >wrong.toml <<'END'
[[case]]
run = "vm.builtin.copy"
args = [{ input = "$a b" }]
keep = "a b"

[[case]]
run = "vm.builtin.copy"
args = [{ input = "x=$later" }]
keep = "x"
raises = "so"

[[case]]
run = "vm.builtin.copy"
args = [{ input = "1" }]
keep = "later"
END
minspect --cases wrong.toml "$lib" || echo $?
