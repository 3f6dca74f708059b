# SPDX-License-Identifier: Apache-2.0
"""The blob that mpack writes has the very bytes that TVM writes for the same modules."""
import filecmp
import itertools

import graphs
import pytest
import tvm_ffi
import tvmlib
from conftest import DATA


@pytest.mark.parametrize("name", graphs.GRAPHS)
def test_graph(name, mpack, tmp_path):
    graph = graphs.GRAPHS[name]
    path = graphs.write_package(graph, tmp_path)
    if len(graph) == 1 and "host" in (kind for kind, _ in graph.values()):
        # TVM's export_library writes no blob for host code alone.
        mpack("build", path, "-o", tmp_path / "out.so")
        with pytest.raises(ValueError):
            tvmlib.blob_in(tmp_path / "out.so")
        return
    mpack("build", path, "-o", tmp_path / "out.blob")
    assert (tmp_path / "out.blob").read_bytes() == graphs.blob(graph)


def edges_of(graph):
    """(importer, imported) by name; host modules are one: "_lib"."""
    name = {m: "_lib" if kind == "host" else m for m, (kind, _) in graph.items()}
    return {(name[m], name[i]) for m, (_, imports) in graph.items() for i in imports}


@pytest.mark.parametrize("name", graphs.REFUSED)
def test_beyond_tvm(name, mpack, tmp_path):
    """TVM cannot export these, though nothing in them is circular. It loads them."""
    graph = graphs.REFUSED[name]
    with pytest.raises(Exception):
        graphs.blob(graph)
    path = graphs.write_package(graph, tmp_path)
    mpack("build", path, "-o", tmp_path / "out.blob")
    nodes = tvmlib.read_blob((tmp_path / "out.blob").read_bytes())
    names = {graphs.data_payload(m): m for m in graph} | {None: "_lib"}
    found = {(names[payload], names[nodes[child][1]])
             for _, payload, children in nodes for child in children}
    assert found == edges_of(graph)
    assert all(child > i for i, (_, _, children) in enumerate(nodes) for child in children)
    mpack("build", path, "-o", tmp_path / "out.so")
    assert tvm_ffi.load_module(tmp_path / "out.so").kind == nodes[0][0].replace("_lib", "library")


# Module -> imports; a letter says what it is: h host, o opencl, s cuda source, p cuda PTX.
DEVICE_GRAPHS = {
    "opencl below host": {"h": ["o"], "o": []},
    "cuda source below host": {"h": ["s"], "s": []},
    "ptx below host": {"h": ["p"], "p": []},
    "device alone": {"o": []},
    "device at the root": {"o": ["h"], "h": ["p"], "p": []},
    "all kinds": {"h": ["o", "s", "p"], "o": [], "s": [], "p": []},
    "two hosts, one shared device": {"h": ["h2", "o"], "h2": ["o", "p"], "o": [], "p": []},
    "chain of devices": {"h": ["o"], "o": ["s"], "s": ["p"], "p": []},
    "host between devices": {"o": ["s"], "s": ["h"], "h": ["p"], "p": ["o2"], "o2": []},
}
TARGETS = {"o": "opencl", "s": "cuda", "p": "nvptx"}


@pytest.mark.parametrize("name", DEVICE_GRAPHS)
def test_device_graph(name, mpack, tmp_path):
    graph = DEVICE_GRAPHS[name]
    modules, text = {}, '[package]\nname = "devices"\n'
    for module, imports in graph.items():
        if module[0] == "h":
            modules[module] = graphs.create_host(module)
            (tmp_path / f"{module}.c").write_text(f"int __tvm_ffi_{module}(void) {{ return 0; }}\n")
            text += f'[[module]]\nid = "{module}"\nkind = "host"\nsources = ["{module}.c"]\n'
        else:
            modules[module] = tvmlib.device(f"kernel_{module}", TARGETS[module[0]])
            table = tvmlib.device_manifest(module, modules[module], tmp_path)
            head, bracket, functions = table.partition("  [[")
            text += f"{head}imports = {imports}\n{bracket}{functions}".replace("'", '"')
            continue
        text += f"imports = {imports}\n".replace("'", '"')
    for module, imports in graph.items():
        for other in imports:
            modules[module].import_module(modules[other])
    (tmp_path / "mpack.toml").write_text(text)
    mpack("build", tmp_path / "mpack.toml", "-o", tmp_path / "out.blob")
    expected = graphs.blob_of(modules[next(iter(graph))])
    assert (tmp_path / "out.blob").read_bytes() == expected


@pytest.mark.parametrize("target", ["opencl", "cuda", "nvptx"])
def test_exported_library(target, mpack, tmp_path):
    """Against export_library: the blob inside the library that TVM itself linked."""
    executable = tvmlib.vadd("vadd", target)
    executable.export_library(str(tmp_path / "tvm.so"))
    (tmp_path / "host.c").write_text("int __tvm_ffi_vadd(void) { return 0; }\n")
    (tmp_path / "mpack.toml").write_text(
        '[package]\nname = "vadd"\n[[module]]\nid = "host"\nkind = "host"\nsources = ["host.c"]\n'
        'imports = ["dev"]\n' + tvmlib.device_manifest("dev", executable.mod.imports[0], tmp_path))
    mpack("build", tmp_path / "mpack.toml", "-o", tmp_path / "out.so")
    assert tvmlib.blob_in(tmp_path / "out.so") == tvmlib.blob_in(tmp_path / "tvm.so")


@pytest.mark.parametrize("name", ["diamond", "three_hosts", "wide"])
def test_routes_agree(name, mpack, tmp_path):
    """--via c, --via llvm and .blob carry the same bytes; the same build gives the same file."""
    path = graphs.write_package(graphs.GRAPHS[name], tmp_path)
    for via, turn in itertools.product(("c", "llvm"), "12"):
        mpack("build", path, "--via", via, "-o", tmp_path / f"{via}{turn}.so")
    expected = graphs.blob(graphs.GRAPHS[name])
    for via in ("c", "llvm"):
        assert tvmlib.blob_in(tmp_path / f"{via}1.so") == expected
        assert filecmp.cmp(tmp_path / f"{via}1.so", tmp_path / f"{via}2.so", shallow=False)


def test_blob_as_input(mpack, tmp_path):
    """A finished blob instead of a manifest is taken as it is."""
    source = DATA / "formats" / "08_const_loader.blob"
    mpack("build", source, "-o", tmp_path / "out.so")
    assert tvmlib.blob_in(tmp_path / "out.so") == source.read_bytes()
