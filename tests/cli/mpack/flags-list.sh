# every flag that mpack.toml(5) lists may be in a manifest, and the page lists what the table has; flags of GCC and Clang that
# write or read a file, start a program or pass words on may not, unless --allow-cflag says so
cat >try.py <<'PY'
import re, subprocess, sys

ROOT = sys.argv[1]


def check(flags, *options):
    return [flag for i in range(0, len(flags), 20) for flag in check_some(flags[i:i + 20], *options)]


def check_some(flags, *options):
    text = "[package]\nname = \"p\"\nroot = \"h\"\n[[module]]\nid = \"h\"\nkind = \"host\"\nsources = [\"h.c\"]\ncflags = [%s]\n"
    with open("m.toml", "w") as f:
        f.write(text % ", ".join('"%s"' % flag for flag in flags))
    done = subprocess.run(["mpack", "check", "m.toml", *options], capture_output=True, text=True)
    return re.findall(r"error: '([^']*)'", done.stderr) if done.returncode else []


open("h.c", "w").write("int x;\n")
page = open(ROOT + "/man/mpack.toml.5").read()
listed = []
for letter in "gfm":
    text = page.split(".It Names after Fl %s No" % letter)[1].split("\n.It")[0].split("\n.El")[0]
    names = "\n".join(line for line in text.split("\n")[1:] if not re.match(r"\.|N is|WORD is|and$", line))
    for word in re.split(r"[,\s]+", names.replace("\\-", "-").replace("| ", "|").strip()):
        name, _, values = word.rstrip(".").partition("=")
        if values:
            listed += ["-%s%s=%s" % (letter, name, v) for v in {"N": ["4"], "WORD": ["x.y-1"]}.get(values, values.split("|"))]
        else:
            listed += ["-%s%s" % (letter, name), "-%sno-%s" % (letter, name)]
listed += "-O -O3 -Os -Ofast -g -g3 -w -ansi -pedantic -pthread -std=c++20 -DX -DX=1 -UX -Wall -Wno-unused -Werror=format -Wformat=2".split()
print("listed and refused:", check(listed))
rows = re.findall(r'MPK_CFLAG\((.), "([^"]*)", (\w+),', open(ROOT + "/lib/pack/manifest/cflags.def").read())
print("many:", len(rows) > 500, "not on the page:",
      [r for r in rows if not any(f.split("=")[0] in ("-%s%s" % r[:2], "-%sno-%s" % r[:2]) for f in listed)])

FILES = """-fopt-info -fopt-info-vec-all=run.sh -foptimization-record-file=x -fsave-optimization-record -fsave-optimization-record=yaml
-fproc-stat-report=x -fproc-stat-report -ftime-trace -ftime-trace=x -ftime-report=x -fstack-usage -fcallgraph-info -fcallgraph-info=su
-fprofile-generate=x -fprofile-use=x -fprofile-dir=x -fprofile-note=x -fprofile-arcs -ftest-coverage -fbranch-probabilities
-fauto-profile=x -fprofile-instr-generate=x -fcs-profile-generate=x -fmemory-profile=x -fprofile-list=x -fprofile-sample-use=x
-fdump-tree-all -fdump-final-insns=x -fdump-go-spec=x -fcompare-debug -fplugin=x.so -fplugin-arg-x=y -fpass-plugin=x -fuse-ld=x
-fmodule-mapper=x -fmodule-file=x -fmodule-map-file=x -fmodules -fmodules-ts -fmodules-cache-path=x -fmodule-output=x
-fsanitize-ignorelist=x -fsanitize-blacklist=x -fsanitize-coverage-allowlist=x -fno-sanitize-ignorelist=x -fxray-attr-list=x
-fcrash-diagnostics-dir=x -fbuild-session-file=x -fembed-offload-object=x -fthinlto-index=x -fthin-link-bitcode=x
-frandomize-layout-seed-file=x -fprebuilt-module-path=x -fexec-charset=x -finput-charset=x -fdiagnostics-format=json-file
-fdiagnostics-add-output=sarif -foffload-options=x -foffload=x -fopenmp-targets=x -flto=jobserver -fsanitize=x -fvisibility=x
-gsplit-dwarf -gen-reproducer -gcc-toolchain -mllvm -mmlir -mcpu -march=a/b -Wl,x -Wa,x -Wp,-MD,x -Wa -O4x -o -ox -x -include -I. -imacros
-isystem -B. -specs=x -wrapper -Xclang -Xlinker @x --param -MD -MF -MFx -save-temps -dumpbase -dumpdir -aux-info -idirafter --sysroot=x
-fsandbox -E -S -c -fno-plugin=x -ffile-prefix-map=a=b -std= -std=c/17 -W= -Wx=a=b""".split()
refused = check(FILES)
print("may be in a manifest, and should not:", [f for f in FILES if f not in refused and f != "-I."])
print("allowed by the user:", check(["-fstack-usage", "-ftime-trace=x", "-gsplit-dwarf"], "--allow-cflag", "-fstack-usage", "--allow-cflag=-ftime-trace=x"))
PY
python3 try.py "$ROOT"
# the compiler gets it
cat >b.toml <<'E'
[package]
name = "p"
root = "h"
[[module]]
id = "h"
kind = "host"
sources = ["f.c"]
cflags = ["-fno-common", "-fwide-exec-charset=UTF-32LE"]
E
echo 'int __tvm_ffi_f(void *h, const void *a, int n, void *r) { (void)h; (void)a; (void)r; return n; }' >f.c
mpack build b.toml -o b.so 2>&1 || echo $?
mpack build b.toml -o b.so --allow-cflag=-fwide-exec-charset=UTF-32LE --print-commands 2>&1 | grep -c 'fno-common.*fwide-exec-charset=UTF-32LE'
