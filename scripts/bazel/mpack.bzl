# SPDX-License-Identifier: Apache-2.0
"""Packages of mpack in Bazel: a rule for a library, and the program of this machine as what makes it.

    # WORKSPACE, with this file in the folder tools, which has a BUILD file
    load("//tools:mpack.bzl", "mpack_program")
    mpack_program(name = "mpack")

    # BUILD
    load("//tools:mpack.bzl", "mpack_library")
    mpack_library(
        name = "deploy",
        manifest = "mpack.toml",
        srcs = ["scale.cl", "params.bin"],
    )

Nothing is fetched. The program is part of each action's key: another version of it makes every library again, and a cache
that several machines share (--disk_cache, --remote_cache) never gives one the work of another version.
"""

def _program(ctx):
    path = ctx.attr.path or ctx.os.environ.get("MPACK")

    # Debian calls it mpack-tvm: its mpack is another program
    path = path or ctx.which("mpack-tvm") or ctx.which("mpack")
    if not path:
        fail("the program mpack is not in PATH; name it: MPACK=FILE bazel build ..., or mpack_program(path = FILE)")
    ctx.symlink(path, "mpack")
    ctx.file("BUILD", "exports_files([\"mpack\"])\n")

mpack_program = repository_rule(
    implementation = _program,
    doc = "The program mpack of this machine, as @NAME//:mpack.",
    attrs = {"path": attr.string(doc = "absolute; default: the variable MPACK, then the program in PATH")},
    environ = ["MPACK", "PATH"],
    local = True,
)

def _library(ctx):
    out = ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + ".so")
    args = ctx.actions.args()
    args.add("build")
    args.add(ctx.file.input)
    args.add("-o", out)
    if ctx.attr.standalone:
        args.add("--standalone")
    args.add_all(ctx.attr.opts)
    ctx.actions.run(
        executable = ctx.executable.program,
        arguments = [args],
        inputs = [ctx.file.input] + ctx.files.srcs,
        outputs = [out],
        mnemonic = "Mpack",
        progress_message = "Packing %s" % out.short_path,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

_mpack_library = rule(
    implementation = _library,
    attrs = {
        "input": attr.label(allow_single_file = True, mandatory = True),
        "srcs": attr.label_list(allow_files = True),
        "standalone": attr.bool(),
        "opts": attr.string_list(),
        "out": attr.output(),
        "program": attr.label(default = "@mpack//:mpack", allow_single_file = True, executable = True, cfg = "exec"),
    },
)

def mpack_library(name, manifest, srcs = [], standalone = False, opts = [], out = None, **kwargs):
    """A library, NAME.so.

    Args:
      name: of the target
      manifest: mpack.toml; with standalone also a finished library
      srcs: every file that the manifest names; the sandbox has no others
      standalone: it carries the executor of its models (mpack build --standalone)
      opts: more options of mpack build
      out: another name than NAME.so
      **kwargs: program, as of mpack_program(name = "other"): "@other//:mpack"; what all rules take
    """
    _mpack_library(name = name, input = manifest, srcs = srcs, standalone = standalone, opts = opts, out = out, **kwargs)
