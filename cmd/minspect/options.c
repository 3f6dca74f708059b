/* SPDX-License-Identifier: Apache-2.0 */
#include "minspect/minspect.h"

#include <string.h>

struct minspect_options minspect_options;

#define O minspect_options

static const struct mpk_option options[] = {
	{ 0, "functions", MPK_OPT_FLAG, NULL, "callable functions and kernels, with signatures",
	  &O.functions },
	{ 0, "size", MPK_OPT_FLAG, NULL, "bytes by section, module and kernel; duplicates",
	  &O.size },
	{ 0, "diff", MPK_OPT_TEXT, "OTHER", "what FILE has that OTHER has not, and the other way",
	  &O.diff },
	{ 0, "extract", MPK_OPT_TEXT | (unsigned)MPK_WRITES_FOLDER, "DIR",
	  "every payload and its parts as files, and an index", &O.extract },
	{ 0, "show", MPK_OPT_TEXT, "PATH[#NAME]", "one payload, kernel or tensor: /1, /1#vadd",
	  &O.show },
	{ 0, "disasm", MPK_OPT_MAYBE, "FN", "instructions of a function, kernel or byte code",
	  &O.disasm },
	{ 0, "verify", MPK_OPT_FLAG, NULL, "check structure and payloads to the last byte",
	  &O.verify },
	{ 0, "check", MPK_OPT_FLAG, NULL, "will it load there? by default on this machine",
	  &O.check },
	{ 0, "html", MPK_OPT_TEXT | (unsigned)MPK_WRITES_FILE, "OUT",
	  "one page for a browser: tree, sizes, texts, graphs", &O.html },
	{ 0, "run", MPK_OPT_TEXT, "FN", "load FILE and call FN", &O.run },
	{ 0, "cases", MPK_OPT_TEXT, "FILE.toml", "many calls in one process, for CI", &O.cases },
	{ 0, "json", MPK_OPT_FLAG, NULL, "one JSON document instead of text", &O.json },
	{ 0, "input", MPK_OPT_LIST, "V", "an argument: 2x3xf32=1,2,3,4,5,6 @x.npy i64=5 5 str=a",
	  &O.arguments },
	{ 0, "out", MPK_OPT_LIST, "SPEC", "an argument that FN fills: 4xf32", &O.arguments },
	{ 0, "expect", MPK_OPT_LIST, "V", "what the next result must be, or 'ignored'",
	  &O.expects },
	{ 0, "output", MPK_OPT_LIST | (unsigned)MPK_WRITES_RESULT, "[N=]@F.npy",
	  "save a result, or what --show gives", &O.outputs },
	{ 0, "raw", MPK_OPT_FLAG, NULL, "with --show: the payload as it stands in the blob",
	  &O.raw },
	{ 0, "device", MPK_OPT_TEXT, "DEV[:N]", "where tensors live: cpu, opencl or cuda",
	  &O.device },
	{ 0, "params", MPK_OPT_TEXT, "FILE", "inputs of a model by name: .params or .npz",
	  &O.params },
	{ 0, "header", MPK_OPT_TEXT | (unsigned)MPK_WRITES_FILE, "OUT.h",
	  "its functions as C declares them, and OUT.pyi", &O.header },
	{ 0, "baseline", MPK_OPT_TEXT, "B.json",
	  "do kernels need more than they did? no GPU is used", &O.baseline },
	{ 0, "dot", MPK_OPT_TEXT, "tree|model", "the modules, or the model, for Graphviz", &O.dot },
	{ 0, "tvm", MPK_OPT_LIST, "0.27", "with --check: the TVM release there, or ffi",
	  &O.releases },
	{ 0, "runtime", MPK_OPT_LIST, "LIB", "with --check: a library whose loaders are there",
	  &O.runtimes },
	{ 0, "machine", MPK_OPT_TEXT, "NAME", "with --check: x86_64, aarch64, ...", &O.machine },
	{ 0, "glibc", MPK_OPT_TEXT, "2.28", "with --check: the glibc there", &O.glibc },
	{ 0, "libs", MPK_OPT_LIST, "DIR", "with --check: where the libraries from there are",
	  &O.libs },
	{ 0, "device-arch", MPK_OPT_LIST, "ARCH", "with --check: the GPU there: sm_90, gfx90a",
	  &O.devices_there },
	{ 0, "driver", MPK_OPT_TEXT, "12.4", "with --check: the CUDA version of the driver there",
	  &O.driver },
	{ 0, "call-metadata", MPK_OPT_FLAG, NULL,
	  "with --functions: run FILE's own code to ask it what its functions take",
	  &O.call_metadata },
	{ 0, "max-memory", MPK_OPT_TEXT, "SIZE",
	  "of an inspection (default: 64 MiB and 4 times FILE), or none", &O.max_memory },
	{ 0, "digest", MPK_OPT_TEXT, "NAME", "with --extract: xxh128 (default), sha256 or none",
	  &O.digest },
	{ 0, "pubkey", MPK_OPT_TEXT, "KEY",
	  "with --verify: FILE must be signed by the Ed25519 key in KEY", &O.pubkey },
	{ 0, "builder", MPK_OPT_TEXT, "URI", "with --attestation: who built it", &O.builder },
	{ 0, "budget", MPK_OPT_TEXT, "SIZE", "with --size: status 1 when FILE is larger",
	  &O.budget },
	{ 0, "csv", MPK_OPT_FLAG, NULL, "with --size: rows for a spreadsheet", &O.csv },
	{ 0, "markdown", MPK_OPT_FLAG, NULL, "with --diff, --size: for a pull request",
	  &O.markdown },
	{ 0, "tolerance", MPK_OPT_TEXT, "PERCENT",
	  "with --baseline: by how much figures may grow (default: 0)", &O.tolerance },
	{ 0, "update-baseline", MPK_OPT_FLAG, NULL, "with --baseline: write B.json anew",
	  &O.update_baseline },
	{ 0, "atol", MPK_OPT_TEXT, "X", "absolute difference that --expect allows", &O.atol },
	{ 0, "rtol", MPK_OPT_TEXT, "X", "relative difference that --expect allows", &O.rtol },
	{ 0, "repeat", MPK_OPT_TEXT, "N", "call N times and print a timing summary", &O.repeat },
	{ 0, "warmup", MPK_OPT_TEXT, "N", "calls before those that are timed", &O.warmup },
	{ 0, "profile", MPK_OPT_MAYBE | (unsigned)MPK_WRITES_FILE, "FILE.json",
	  "time by operator of a model; FILE: a trace for Perfetto", &O.profile },
	{ 0, "trace", MPK_OPT_FLAG, NULL, "each instruction of a model as it runs", &O.trace },
	{ 0, "dump", MPK_OPT_TEXT | (unsigned)MPK_WRITES_FOLDER, "DIR",
	  "what each operator of a model computes, as .npy", &O.dump },
	{ 0, "compare", MPK_OPT_TEXT, "DIR", "compare with what --dump wrote of another run",
	  &O.compare },
	{ 0, "isolate", MPK_OPT_FLAG, NULL, "FN keeps no files, connections, processes; cpu only",
	  &O.isolate },
	{ 0, "force", MPK_OPT_FLAG | (unsigned)MPK_WRITES_FORCE, NULL,
	  "run what --verify finds errors in; overwrite any file", &O.force },
	{ 0, "timeout", MPK_OPT_TEXT, "S", "give up after S seconds", &O.timeout },
	{ 0, "grid", MPK_OPT_TEXT, "X[,Y[,Z]]", "blocks, when FN is a kernel", &O.grid },
	{ 0, "block", MPK_OPT_TEXT, "X[,Y[,Z]]", "threads of a block, when FN is a kernel",
	  &O.block },
	{ 0, "shared", MPK_OPT_TEXT, "BYTES", "dynamic shared memory, when FN is a kernel",
	  &O.shared },
	{ 0, "tvm-ffi", MPK_OPT_TEXT, "PATH", "the libtvm_ffi.so that FILE needs", &O.tvm_ffi },
	{ 0, "junit", MPK_OPT_TEXT | (unsigned)MPK_WRITES_FILE, "OUT.xml",
	  "write the result of --cases or --baseline as JUnit XML", &O.junit },
	{ 0, "tap", MPK_OPT_FLAG, NULL, "print the result of --cases as TAP", &O.tap },
	{ 0, "filter", MPK_OPT_LIST, "NAME",
	  "only what is named like NAME, or by a pattern with * ? [", &O.filters },
	{ 0, "no-skip", MPK_OPT_FLAG, NULL, "a case that would be skipped fails", &O.no_skip },
	{ 0, "sbom", MPK_OPT_MAYBE, "FORM", "a bill of materials: cyclonedx (default) or spdx",
	  &O.sbom },
	{ 0, "attestation", MPK_OPT_MAYBE, "FORM",
	  "what it was built from, for SLSA: statement (default) or predicate", &O.attestation },
	{ 0, "devices", MPK_OPT_FLAG, NULL, "list the devices that --device can name", &O.devices },
	{ 0, "explain", MPK_OPT_MAYBE, "ID",
	  "what the word in brackets behind a finding means; none: list them", &O.explain },
	{ 0 },
};

const struct mpk_command minspect_command = {
	.name = "",
	.usage = "minspect [ACTION] [OPTION]... FILE...",
	.summary =
		"Show, check and call what a compiled module holds. FILE may be lib.a(devc.o) or app.whl!/lib.so.",
	.examples = "  minspect deploy.so\n"
		    "  minspect --functions --json deploy.so\n"
		    "  minspect --run addone deploy.so --input 4xf32=1,2,3,4 --out 4xf32\n",
	.options = options,
	.screen = 15,
};

/* Several options may share a list. */
static bool has_item(const struct mpk_option_list *list, const struct mpk_option *row)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].option == row)
			return true;
	return false;
}

const struct mpk_option *minspect_option(const char *name)
{
	const struct mpk_option *row = options;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row->name ? row : NULL;
}

bool minspect_given(const char *name)
{
	const struct mpk_option *row = minspect_option(name);

	if (!row)
		return false;
	if (mpk_option_kind(row) == MPK_OPT_LIST)
		return has_item(row->target, row);
	return mpk_option_kind(row) == MPK_OPT_FLAG ? *(const bool *)row->target
						    : *(const char *const *)row->target != NULL;
}
