# no option of either program overwrites what the command reads, or a library or archive that the program did not
# write: every option that takes a value, of every command, with such files for its value
#
# Which options write is found out: those are they that make the file when it is not there. A new option must stand
# in a command line below that has it do its work.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
printf '[[case]]\nname = "one"\nrun = "nothing"\n' >cases.toml
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}' >k.cl
ar qc made.ar k.cl
tar cf made.tar k.cl
cat >walk.py <<'END'
import glob, hashlib, os, re, shutil, subprocess, sys

DATA = "data/formats/"
MODEL = ["data/relax/gelu.so", "--input", "@data/relax/gelu.in0.npy"]
# The rest of a command line in which an option does its work; INPUT is a copy of a file.
ALONE = {"mpack build": [["INPUT.blob", "--emit", "so"]], "mpack check": [["INPUT.blob"]],
         "mpack edit": [["INPUT.so", "--replace", "/0=k.cl"]], "mpack init": [["k.cl"]],
         "mpack sign": [["INPUT.so", "--key", "key.pem"]], "mpack unpack": [["INPUT.so"]],
         "minspect": [["INPUT.so"]], "mpack": [[]]}
WITH = {"mpack build --depfile": [["INPUT.blob", "-o", "made.so"]],
        "mpack build --save-temps": [["INPUT.blob", "-o", "made.so"]],
        "minspect --junit": [["--cases", "cases.toml", "ffi.so"], ["--baseline", "base.json", "INPUT.so"]],
        "minspect --baseline": [["--update-baseline", "INPUT.so"]],
        "minspect --output": [["--show", "/0", "INPUT.so"], ["--verify", "INPUT.so"], ["--html", "INPUT.so"],
                              ["header", "INPUT.so"], ["--run", "forward", *MODEL]],
        "minspect --profile": [["--run", "forward", *MODEL]],
        "minspect --dump": [["--run", "forward", *MODEL]]}
VALUES = {"minspect --output": ["%s", "@%s", "0=@%s"]}
EDITED = ("mpack edit --output", "mpack sign --output")  # may replace what they read


def options(command):
    text = subprocess.run([*command.split(), "--help=all"], capture_output=True, text=True, check=True).stdout
    for letter, name, rest in re.findall(r"^  (-.,|   ) --([a-z-]+)(\[=| ?)", text, re.M):
        line = re.search(rf"--{name}(?=[ \[])(\[=\S*| \S+)?", text).group(1)
        if line:
            yield name


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest() if os.path.isfile(path) else None


def victims():
    """What must not be overwritten, by name; made anew each time."""
    for path in glob.glob("v/*"):
        os.unlink(path)
    os.makedirs("v", exist_ok=True)
    shutil.copy(DATA + "01_opencl_scale.so", "INPUT.so")
    shutil.copy(DATA + "01_opencl_scale.blob", "INPUT.blob")
    shutil.copy("ffi.so", "v/elf")
    for name in ("ar", "tar"):
        shutil.copy("made." + name, "v/" + name)
    shutil.copy(DATA + "03_cuda_ptx.blob", "v/blob")
    open("v/zip", "wb").write(b"PK\3\4" + bytes(40))
    open("v/macho", "wb").write(b"\xcf\xfa\xed\xfe" + bytes(40))
    open("v/gzip", "wb").write(b"\x1f\x8b\x08\0" + bytes(40))
    os.symlink("elf", "v/symlink")
    return ["v/elf", "v/ar", "v/tar", "v/blob", "v/zip", "v/macho", "v/gzip", "v/symlink"]


def run(command, name, value, rest, *more):
    words = [*command.split(), f"--{name}={value}", *rest, *more]
    return words, subprocess.run(words, capture_output=True, text=True, timeout=300)


def clean(rest):
    for path in ("fresh", "fresh.pyi", "made.so", "base.json"):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
    if "base.json" not in rest:
        return
    shutil.copy(DATA + "01_opencl_scale.so", "INPUT.so")
    subprocess.run(["minspect", "--baseline", "base.json", "--update-baseline", "INPUT.so"],
                   capture_output=True, check=True)


def check(command, name, rest):
    """Whether the option writes; then, that it overwrites nothing."""
    option, form = f"{command} --{name}", VALUES.get(f"{command} --{name}", ["%s"])
    clean(rest)
    victims()
    words, done = run(command, name, form[0] % "fresh", rest)
    if not os.path.exists("fresh"):
        return False
    if done.returncode:
        print("status", done.returncode, *words)
    is_folder = os.path.isdir("fresh")
    again = run(command, name, form[0] % "fresh", rest)[1].returncode
    if again and not (is_folder and again == 3):
        print("not written again:", *words)
    inputs = [word for word in rest if os.path.isfile(word)] + [word[1:] for word in rest if word[:1] == "@"]
    for path in [*victims(), *inputs, "linked", "hard"]:
        for how in form:
            clean(rest)
            victims()
            if path in ("linked", "hard"):
                if os.path.lexists(path):
                    os.unlink(path)
                (os.symlink if path == "linked" else os.link)("INPUT.so", path)
            if option in EDITED and (path in inputs or path in ("linked", "hard")) and "INPUT.so" in rest:
                continue
            before = digest(path)
            words, done = run(command, name, how % path, rest)
            if done.returncode not in (2, 3, 4) or digest(path) != before or not done.stderr:
                print("status", done.returncode, "OVERWRITTEN" if digest(path) != before else "kept", *words)
    if not is_folder and option != "minspect --baseline":
        clean(rest)
        victims()
        words, done = run(command, name, form[0] % "v/elf", rest, "--force")
        if done.returncode or digest("v/elf") == digest("ffi.so"):
            print("not with --force:", *words, done.stderr)
    words, done = run(command, name, "", rest)
    if done.returncode != 2 and name != "baseline":
        print("status", done.returncode, *words)
    return True


for command in ALONE:
    for name in options(command):
        for rest in WITH.get(f"{command} --{name}", ALONE[command]):
            if check(command, name, rest):
                print(f"{command} --{name} writes", *(["with " + rest[0]] if len(rest) > 1 else []), flush=True)
END
python3 walk.py

echo "-- two outputs of one name"
two() { "$@" || echo "status $?"; }
cp data/formats/01_opencl_scale.blob m.blob
two mpack build m.blob -o x.so --depfile x.so
two mpack build m.blob -o x.so --depfile ./x.so
two minspect --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --profile=y.npy --output y.npy
two minspect --run forward data/relax/gelu.so --input @data/relax/gelu.in0.npy --output 0=@- --profile=-
ls x.so y.npy 2>/dev/null || :

echo "-- a page of both was meant"
cp ffi.so a.so
two minspect --html a.so ffi.so
cmp a.so ffi.so

echo "-- what is read later is an input, too"
cp data/relax/gelu.in0.npy in.npy
two minspect --run forward data/relax/gelu.so --input @in.npy --output @in.npy >out
cmp in.npy data/relax/gelu.in0.npy
two minspect --cases cases.toml --junit cases.toml ffi.so >out
head -n 1 cases.toml

echo "-- text and arrays make way, and what mpack wrote, also as a copy without attributes"
echo text >page.html
minspect --html page.html ffi.so
minspect --run forward data/relax/gelu.so --input @in.npy --output @page.html >out
mpack build m.blob -o x.so
cat x.so >copy.so
mpack build m.blob -o copy.so
cat x.so >>copy.so
mpack build m.blob --emit blob -o m2.blob
mpack build m.blob --emit blob -o m2.blob
cat m.blob >m2.blob
two mpack build m.blob --emit blob -o m2.blob
mpack build m.blob -o x.so --save-temps temps
mpack build m.blob -o x.so --save-temps temps
mkdir mine
cp ffi.so mine/devc.o
two mpack build m.blob -o x.so --save-temps mine
