#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare - what minspect check says of libraries, beside what dlopen does with them

  compare.py [--count N] [--seed N] [--work DIR] [--minspect PROGRAM] [--keep]

Makes N libraries (40) with one or more of what keeps a library from loading, or looks as if it did: a library that it
needs and that is missing, for another machine, or found by the run path of somebody else; symbols that are undefined,
weak, hidden, protected, of a version that is not there, thread-local, chosen at run time (IFUNC), copied into a
program, named by no relocation; functions that are bound lazily. Each is opened with RTLD_NOW and with RTLD_LAZY in
a process of its own, whose answers are the right ones. Prints a line for each that check judges otherwise, then a
count; exit status 1 when there is one, 77 where no compiler is.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int opens(const char *path, int mode)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		void *handle = dlopen(path, mode | RTLD_LOCAL);
		if (!handle)
			fprintf(stderr, "%s: %s\n", mode == RTLD_NOW ? "now" : "lazy", dlerror());
		_exit(handle ? 0 : 1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}
int main(void)
{
	char line[4096];
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		printf("%d %d\n", opens(line, RTLD_NOW), opens(line, RTLD_LAZY));
	}
	return 0;
}
"""


class Maker:
    def __init__(self, work, seed):
        self.work, self.random = work, random.Random(seed)
        self.commands = []

    def compile(self, out, source, *options):
        path = out + ".c"
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
        run = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", "-fno-stack-protector", "-o", out, path, *options],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"compare: {' '.join(run.args)}: {run.stderr}")

    def provider(self, folder, name, symbols, *options, versions=None):
        """A library that defines symbols: {name: kind}."""
        source, script = "", ""
        for s, kind in symbols.items():
            source += {
                "function": f"int {s}(void) {{ return 1; }}\n",
                "data": f"int {s} = 1;\n",
                "weak": f"__attribute__((weak)) int {s}(void) {{ return 1; }}\n",
                "hidden": f'__attribute__((visibility("hidden"))) int {s}(void) {{ return 1; }}\n',
                "protected": f'__attribute__((visibility("protected"))) int {s}(void) {{ return 1; }}\n',
                "tls": f"__thread int {s} = 1;\n",
                "ifunc": f'static int {s}_one(void) {{ return 1; }} static void *{s}_pick(void) {{ return {s}_one; }}\n'
                         f'int {s}(void) __attribute__((ifunc("{s}_pick")));\n',
                "absolute": f'__asm__(".globl {s}\\n{s} = 0x1234\\n");\n',
                "old": f'int {s}_impl(void) {{ return 1; }} __asm__(".symver {s}_impl,{s}@V1");\n',
                "wants": f"int nowhere_{s}(void); int {s}(void) {{ return nowhere_{s}(); }}\n",
                "wants_now": f"extern int nowhere_{s}; int {s}(void) {{ return nowhere_{s}; }}\n",
            }[kind]
        options = list(options)
        if versions:
            script = os.path.join(folder, name + ".map")
            with open(script, "w", encoding="ascii") as f:
                f.write(versions)
            options.append(f"-Wl,--version-script={script}")
        self.compile(os.path.join(folder, name), source, f"-Wl,-soname,{name}", *options)

    def one(self, index):
        """The path of one library, and what it is like."""
        r, folder = self.random, os.path.join(self.work, f"l{index}")
        build, deps = os.path.join(folder, "build"), os.path.join(folder, "deps")
        os.makedirs(build), os.makedirs(deps)
        why, body, needs, options = [], [], [], []
        expects_module = r.random() < 0.4
        hashes = r.choice(["gnu", "sysv", "both"])
        options.append(f"-Wl,--hash-style={hashes}")
        for k in range(r.choice([1, 1, 2, 3])):
            self.dependency(f"libd{index}_{k}.so", f"s{k}", build, deps, why, body, needs, options)
        for k in range(r.choice([0, 0, 0, 1, 1, 2])):
            self.alone(f"u{k}", why, body, options)
        prefix = "__tvm_ffi_f" if expects_module and r.random() < 0.7 else "plain_f"
        if expects_module and prefix == "plain_f":
            body.append('__attribute__((visibility("default"))) int __tvm_ffi_quiet(void) { return 0; }')
            why.append("plain function")
        calls = " + ".join(b[len("USE "):] for b in body if b.startswith("USE ")) or "0"
        source = "\n".join(b for b in body if not b.startswith("USE "))
        source += f'\n__attribute__((visibility("default"))) int {prefix}(void) {{ return {calls}; }}\n'
        form = r.choice(["run path"] * 6 + ["rpath"] * 2 + ["no run path"])
        tags = "-Wl,--disable-new-dtags" if form == "rpath" else "-Wl,--enable-new-dtags"
        if form != "no run path":
            options += [tags, "-Wl,-rpath,$ORIGIN/deps" + r.choice(["", ":/nowhere", ":/nowhere:$ORIGIN"])]
        why.append(form)
        if r.random() < 0.2:
            options.append("-Wl,-z,now")
            why.append("binds now")
        else:
            options.append("-Wl,-z,lazy")
        special = r.random()
        out = os.path.join(folder, f"lib{index}.so")
        options += ["-Wl,--allow-shlib-undefined", f"-L{build}", "-Wl,--no-as-needed", *needs]
        if special < 0.05:
            why.append("a program")
            self.program(out, source, options)
            return out, why
        if special < 0.1:
            options.append("-Wl,-z,nodlopen")
            why.append("not to be opened")
        elif special < 0.2:
            options.append("-Wl,-Bsymbolic")
        self.compile(out, source, *options)
        return out, why

    def program(self, out, source, options):
        path = out + ".c"
        with open(path, "w", encoding="ascii") as f:
            f.write(source + "\nint main(void) { return 0; }\n")
        run = subprocess.run(["cc", "-fPIE", "-pie", "-w", "-o", out, path, "-Wl,--unresolved-symbols=ignore-all",
                              *options], capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"compare: {' '.join(run.args)}: {run.stderr}")

    def dependency(self, name, s, build, deps, why, body, needs, options):
        """A library that is needed: as it was at the link, and as it is now."""
        r = self.random
        kind = r.choice(["function", "data", "weak", "protected", "tls", "ifunc", "absolute", "function"])
        declared = {"data": f"extern int {s};\nUSE {s}", "absolute": f"extern int {s};\nUSE (int)(long)&{s}",
                    "tls": f"extern __thread int {s};\nUSE {s}"}
        use = r.choice(["call", "call", "address", "weak call", "weak address"])
        if kind in declared:
            text = declared[kind]
            weak = use.startswith("weak") and kind != "tls"
            if weak:
                text = "__attribute__((weak)) " + text
                why.append("weak")
        elif use == "call":
            text = f"int {s}(void);\nUSE {s}()"
        elif use == "weak call":
            text = f"__attribute__((weak)) int {s}(void);\nUSE {s}()"
        else:
            weak = "__attribute__((weak)) " if use == "weak address" else ""
            text = f"{weak}int {s}(void); int (*at_{s})(void) = {s};\nUSE at_{s}()"
        body += text.split("\n")
        needs.append("-l:" + name)
        why += [kind, use]
        versions = r.choice([None, None, "V1 { global: *; };", "V1 { global: other; };\nV2 { global: *; } V1;"])
        extra = {"other": "function"}
        self.provider(build, name, {s: kind, **extra}, versions=versions)
        if versions:
            why.append("versions")
        now = r.choice(["same"] * 16 + ["gone", "missing", "hidden", "other version", "no version", "other kind",
                                       "old version", "wants", "wants now", "no opening", "a program", "other machine", "truncated", "deep", "deep rpath",
                                       "deep missing", "sysv"])
        if kind == "tls" and now in ("other kind",):
            now = "same"
        why.append(now)
        path = os.path.join(deps, name)
        same = {s: kind, **extra}
        if now in ("same", "sysv"):
            self.provider(deps, name, same, f"-Wl,--hash-style={'sysv' if now == 'sysv' else 'gnu'}", versions=versions)
        elif now == "gone":
            self.provider(deps, name, extra, versions=versions)
        elif now == "hidden":
            self.provider(deps, name, {s: "hidden", **extra}, versions=versions)
        elif now == "other version":
            self.provider(deps, name, same, versions="W9 { global: *; };")
        elif now == "no version":
            self.provider(deps, name, same)
        elif now == "old version":
            self.provider(deps, name, {s: "old", **extra}, versions="V1 { global: other; };\nV2 { } V1;")
        elif now == "other kind":
            self.provider(deps, name, {s: r.choice(["weak", "function", "protected", "ifunc"]), **extra}, versions=versions)
        elif now in ("wants", "wants now"):
            self.provider(deps, name, {s: kind, "w" + s: now.replace(" ", "_"), **extra}, "-Wl,-z,lazy", versions=versions)
        elif now == "no opening":
            self.provider(deps, name, same, "-Wl,-z,nodlopen", versions=versions)
        elif now == "a program":
            self.program(path, f"int {s}(void) {{ return 1; }} int other;", ["-rdynamic"])
        elif now == "other machine":
            self.provider(deps, name, same, versions=versions)
            with open(path, "r+b") as f:
                f.seek(18)
                f.write(b"\x08\x00")  # EM_MIPS
        elif now == "truncated":
            with open(path, "wb") as f:
                f.write(b"\x7fELF\x02\x01\x01")
        elif now.startswith("deep"):
            inner = "deep_" + name
            where = os.path.join(deps, "inner")
            os.makedirs(where, exist_ok=True)
            self.provider(where, inner, {"inner_" + s: "function"})
            tags = "-Wl,--disable-new-dtags" if now == "deep rpath" else "-Wl,--enable-new-dtags"
            own = r.random() < 0.6
            run = ["-Wl,-rpath,$ORIGIN/inner"] if own else []
            if not own:
                options += ["-Wl,-rpath,$ORIGIN/deps/inner"]
                why.append("found by another's path")
            self.provider(deps, name, same, f"-L{where}", "-Wl,--no-as-needed", f"-l:{inner}", tags, *run, versions=versions)
            if now == "deep missing":
                os.unlink(os.path.join(where, inner))

    def alone(self, u, why, body, options):
        """What nothing defines."""
        kind = self.random.choice(["called", "called", "called", "address", "weak call", "weak address", "unused", "tls", "weak tls",
                                   "hidden weak", "own", "libm", "old glibc", "c++", "unused", "own"])
        why.append("undefined " + kind)
        body += {
            "called": f"int {u}(void);\nUSE {u}()",
            "address": f"int {u}(void); int (*at_{u})(void) = {u};\nUSE at_{u}()",
            "weak call": f"__attribute__((weak)) int {u}(void);\nUSE ({u} ? {u}() : 0)",
            "weak address": f"extern __attribute__((weak)) int {u};\nUSE (&{u} ? {u} : 0)",
            "unused": f'__asm__(".globl {u}");',
            "tls": f"extern __thread int {u};\nUSE {u}",
            "weak tls": f"extern __attribute__((weak)) __thread int {u};\nUSE 0",
            "hidden weak": f'extern __attribute__((weak, visibility("hidden"))) int {u};\nUSE (&{u} != 0)',
            "own": f"int {u}(void) {{ return 1; }}\nUSE {u}()",
            "libm": f"double cos(double); volatile double cos_of_{u} = 1;\nUSE (int)cos(cos_of_{u})",
            "old glibc": '__asm__(".symver memcpy,memcpy@GLIBC_2.2.5"); void *memcpy(void *, const void *, unsigned long);'
                         f" volatile unsigned long n_{u}; char b_{u}[9];\nUSE (int)(long)memcpy(b_{u}, b_{u} + 1, n_{u})",
            "c++": f"void *cxx_{u}(void) __asm__(\"_ZSt9terminatev\");\nUSE (int)(long)&cxx_{u}",
        }[kind].split("\n")


def judge(answer):
    """What check says: (it opens with RTLD_NOW, it opens lazily)."""
    findings = answer["findings"]
    at_load = any(f["severity"] == "error" and f["when"] == "load" for f in findings)
    at_call = any(f["when"] == "call" and f["check"] == "symbol" for f in findings)
    return not (at_load or at_call), not at_load


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work")
    parser.add_argument("--minspect", default="minspect")
    parser.add_argument("--keep", action="store_true")
    o = parser.parse_args()
    if not shutil.which("cc"):
        print("compare: no C compiler is here")
        return 77
    work = os.path.abspath(o.work) if o.work else tempfile.mkdtemp(prefix="mpk-loader-")
    os.makedirs(work, exist_ok=True)
    host = os.path.join(work, "host")
    with open(host + ".c", "w", encoding="ascii") as f:
        f.write(HOST)
    # as a process with a runtime in C++ has: these are there whoever is asked
    subprocess.run(["cc", "-o", host, host + ".c", "-Wl,--no-as-needed", "-l:libstdc++.so.6", "-lm", "-l:libgcc_s.so.1", "-ldl"],
                   check=True)
    maker = Maker(work, o.seed)
    made = [maker.one(i) for i in range(o.count)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    opened = subprocess.run([host], input="".join(path + "\n" for path, _ in made), capture_output=True, text=True, env=env,
                            check=True)
    right = [tuple(word == "1" for word in line.split()) for line in opened.stdout.splitlines()]
    assert len(right) == len(made)
    wrong = {"refused": 0, "passed": 0}
    fails = [0, 0]
    for at in range(0, len(made), 50):
        paths = [path for path, _ in made[at:at + 50]]
        run = subprocess.run([o.minspect, "check", "--json", *paths], capture_output=True, text=True, env=env, check=False)
        answers = {a["file"]: a for a in json.loads(run.stdout)["files"]}
        for (path, why), truth in zip(made[at:at + 50], right[at:at + 50]):
            said = judge(answers[path]) if "findings" in answers[path] else (False, False)
            for mode, name in enumerate(("RTLD_NOW", "RTLD_LAZY")):
                fails[mode] += not truth[mode]
                if said[mode] == truth[mode]:
                    continue
                wrong["passed" if said[mode] else "refused"] += 1
                print(f"{path}: {name}: dlopen {'opens' if truth[mode] else 'refuses'} it, check says otherwise: "
                      f"{', '.join(why)}")
    print(f"{len(made)} libraries; dlopen refuses {fails[0]} at once and {fails[1]} lazily; check passes {wrong['passed']} of "
          f"these and refuses {wrong['refused']} others")
    if not o.keep and not o.work:
        shutil.rmtree(work)
    return 1 if wrong["passed"] or wrong["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
