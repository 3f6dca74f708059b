# SPDX-License-Identifier: Apache-2.0
"""Module graphs in real TVM, from a small description.

A graph is a dict: module id -> (kind, [imported ids]); the first id is the root. Kind
"host" makes C source, which TVM merges into the library; "data" a const_loader, whose
payload names the module, so that every node of the blob can be told apart.
"""
import tvm  # noqa: F401  registers TVM's module kinds
import tvm_ffi

# Every shape that the order of modules depends on. TVM refuses those in REFUSED.
GRAPHS = {
    "host_only": {"h": ("host", [])},
    "hosts_only": {"h": ("host", ["i"]), "i": ("host", [])},
    "data_only": {"d": ("data", [])},
    "chain": {"h": ("host", ["a"]), "a": ("data", ["b"]), "b": ("data", [])},
    "data_chain": {"a": ("data", ["b"]), "b": ("data", ["c"]), "c": ("data", [])},
    "fan": {"h": ("host", ["a", "b", "c"]), "a": ("data", []), "b": ("data", []),
            "c": ("data", [])},
    "shared_by_hosts": {"h": ("host", ["i", "a"]), "i": ("host", ["a"]), "a": ("data", [])},
    "shared": {"h": ("host", ["c", "a", "b"]), "a": ("data", ["c"]), "b": ("data", ["c"]),
               "c": ("data", [])},
    "diamond": {"d": ("data", ["a", "b"]), "a": ("data", ["h"]), "b": ("data", ["h"]),
                "h": ("host", [])},
    "data_root": {"d": ("data", ["h"]), "h": ("host", [])},
    "data_root_deep": {"d": ("data", ["h", "e"]), "h": ("host", ["f"]), "e": ("data", []),
                       "f": ("data", [])},
    "host_deep": {"a": ("data", ["b"]), "b": ("data", ["c"]), "c": ("data", ["h"]),
                  "h": ("host", ["e"]), "e": ("data", [])},
    "two_hosts": {"h": ("host", ["i", "a"]), "i": ("host", ["b"]), "a": ("data", []),
                  "b": ("data", [])},
    "three_hosts": {"d": ("data", ["h", "i"]), "h": ("host", ["a", "j"]),
                    "i": ("host", ["b"]), "j": ("host", ["c"]), "a": ("data", []),
                    "b": ("data", []), "c": ("data", [])},
    "hosts_share": {"d": ("data", ["h", "i"]), "h": ("host", ["a"]), "i": ("host", ["a"]),
                    "a": ("data", [])},
    "repeated": {"h": ("host", ["a", "a", "b"]), "a": ("data", []), "b": ("data", [])},
    "wide": {"r": ("data", [f"m{i}" for i in range(12)]),
             **{f"m{i}": ("host" if i % 5 == 2 else "data", []) for i in range(12)}},
    "ladder": {"a0": ("data", ["a1", "b1"]), "a1": ("data", ["h"]), "b1": ("data", ["h"]),
               "h": ("host", ["z", "a3", "b3"]), "a3": ("data", ["z"]),
               "b3": ("data", ["z"]), "z": ("data", [])},
}

# No cycles, yet TVM's walk cannot order them: it meets an import before its importer.
REFUSED = {
    "diamond_of_data": {"d": ("data", ["a", "b"]), "a": ("data", ["e"]),
                        "b": ("data", ["e"]), "e": ("data", [])},
    "diamond_below_host": {"h": ("host", ["a", "b"]), "a": ("data", ["c"]),
                           "b": ("data", ["c"]), "c": ("data", [])},
    "late_parent": {"r": ("data", ["a", "b"]), "a": ("data", ["b"]), "b": ("data", [])},
    "late_host": {"r": ("data", ["h", "b"]), "h": ("host", ["b"]), "b": ("data", ["c"]),
                  "c": ("data", [])},
    "late_deep": {"h": ("host", ["a", "c"]), "a": ("data", ["b"]), "b": ("data", ["c"]),
                  "c": ("data", [])},
}


def create_host(name, functions=()):
    """A host module: C source with one empty function of tvm-ffi's convention each."""
    create = tvm_ffi.get_global_func("runtime.CSourceModuleCreate")
    code = "".join(
        f"int __tvm_ffi_{f}(void *s, const void *a, int n, void *r)"
        " { (void)s; (void)a; (void)n; (void)r; return 0; }\n"
        for f in functions or [name])
    return create(code, "c", list(functions) or [name], [])


def create_data(name):
    """A module whose payload is data_payload(name)."""
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.const_loader")
    return load(data_payload(name))


def data_payload(name):
    """const_loader: no constants, one symbol called name that needs none."""
    u64 = lambda n: n.to_bytes(8, "little")  # noqa: E731
    text = name.encode()
    return u64(0) + u64(0) + u64(1) + u64(len(text)) + text + u64(1) + u64(0)


def create(graph):
    """The TVM module for the root of graph, imports linked."""
    modules = {name: create_host(name) if kind == "host" else create_data(name)
               for name, (kind, _) in graph.items()}
    for name, (_, imports) in graph.items():
        for other in imports:
            modules[name].import_module(modules[other])
    return modules[next(iter(graph))]


def blob_of(module):
    """The bytes TVM would put under __tvm_ffi__library_bin, length field included.
    Raises what TVM raises for graphs it cannot export."""
    tensor = tvm_ffi.get_global_func("runtime.ModulePackImportsToTensor")(module)
    import numpy
    return numpy.from_dlpack(tensor).tobytes()


def blob(graph):
    return blob_of(create(graph))


def manifest(graph, sources=None, abi="ffi"):
    """The same graph as mpack.toml: data modules take NAME.bin, host modules NAME.c.
    sources maps a host id to its file name."""
    out = [f'[package]\nname = "graph"\nabi = "{abi}"\n']
    for name, (kind, imports) in graph.items():
        out.append(f'[[module]]\nid = "{name}"')
        if kind == "host":
            out.append(f'kind = "host"\nsources = ["{(sources or {}).get(name, name + ".c")}"]')
        else:
            out.append(f'kind = "const_loader"\npayload = "{name}.bin"')
        out.append("imports = [" + ", ".join(f'"{i}"' for i in imports) + "]\n")
    return "\n".join(out)


def write_package(graph, folder, abi="ffi"):
    """mpack.toml and every file it names, in folder (a pathlib.Path)."""
    for name, (kind, _) in graph.items():
        if kind == "host":
            (folder / f"{name}.c").write_text(
                f"int __tvm_ffi_{name}(void *s, const void *a, int n, void *r)"
                " { (void)s; (void)a; (void)n; (void)r; return 0; }\n")
        else:
            (folder / f"{name}.bin").write_bytes(data_payload(name))
    path = folder / "mpack.toml"
    path.write_text(manifest(graph, abi=abi))
    return path
