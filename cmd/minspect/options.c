/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of minspect (see common/options.h), in which actions are rows too. The first
 * screen of --help shows 12 actions, and the help of an action shows ten options at a time. So rows
 * are in the order of use, the most frequent first. */
#include "minspect/minspect.h"

#include "base/num.h"
#include "common/options.h"
#include "minspect/run.h"
#include "text/escape.h"

struct minspect_options minspect_options;

#define O minspect_options

/* The operands of --explain are words, not files. */
static int explain_operand(const struct minspect_options *o)
{
	return mpk_explain(o->explain, o->files, o->file_count, o->json);
}

/* The kinds of actions: those that only inspect FILE, that call its code, or that need no file. */
#define LOOKS(f)                                                                                   \
	.word = MPK_WORD, .action = &(const struct mpk_action)                                     \
	{                                                                                          \
		.act = f, .inspects = true                                                         \
	}
#define CALLS(f)                                                                                   \
	.word = MPK_WORD, .action = &(const struct mpk_action)                                     \
	{                                                                                          \
		.act = f                                                                           \
	}
#define ALONE(f)                                                                                   \
	.word = MPK_WORD_ALONE, .action = &(const struct mpk_action)                               \
	{                                                                                          \
		.act = f, .alone = true                                                            \
	}

static const struct mpk_option options[] = {
	{ 0, "functions", MPK_OPT_FLAG, NULL, "callable functions and kernels, with signatures",
	  .target = &O.functions, LOOKS(minspect_functions) },
	{ 0, "size", MPK_OPT_FLAG, NULL, "bytes by section, module and kernel; duplicates",
	  .target = &O.size, LOOKS(minspect_size) },
	{ 0, "diff", MPK_OPT_TEXT, "OTHER", "what differs between OTHER, the older, and FILE",
	  .target = &O.diff, .path = MPK_READS_FILE, .values = "libraries", LOOKS(minspect_diff) },
	{ 0, "extract", MPK_OPT_TEXT, "DIR", "every payload and its parts as files, and an index",
	  .target = &O.extract, .path = MPK_WRITES_FOLDER, LOOKS(minspect_extract) },
	{ 0, "show", MPK_OPT_TEXT, "PATH[#NAME]", "one payload, kernel or tensor: /1, /1#vadd",
	  .target = &O.show, .values = "paths", LOOKS(minspect_part) },
	{ 0, "disasm", MPK_OPT_MAYBE, "FN", "instructions of a function, kernel or byte code",
	  .target = &O.disasm, .values = "functions", LOOKS(minspect_disasm) },
	{ 0, "verify", MPK_OPT_FLAG, NULL, "check structure and payloads to the last byte",
	  .target = &O.verify, LOOKS(minspect_verify) },
	{ 0, "check", MPK_OPT_FLAG, NULL, "will it load there? by default on this machine",
	  .target = &O.check, LOOKS(minspect_check) },
	{ 0, "html", MPK_OPT_TEXT, "OUT", "one page for a browser: tree, sizes, texts, graphs",
	  .target = &O.html, .path = MPK_WRITES_FILE, LOOKS(minspect_html) },
	{ 0, "run", MPK_OPT_TEXT, "FN", "load FILE and call FN", .target = &O.run,
	  .values = "functions", CALLS(minspect_run) },
	{ 0, "cases", MPK_OPT_TEXT, "FILE.toml", "many calls in one process, for CI",
	  .target = &O.cases, CALLS(minspect_cases) },
	{ 0, "json", MPK_OPT_MAYBE, "lines", "JSON instead of text; =lines: a line a file, DIR too",
	  .target = &O.json_form, .word = MPK_WORD, .values = "words: lines" },
	{ 0, "input", MPK_OPT_LIST, "V", "an argument: 2x3xf32=1,2,3,4,5,6 @x.npy i64=5 5 str=a",
	  .target = &O.arguments, .with = "run", .values = "value", .is_case_key = true },
	{ 0, "out", MPK_OPT_LIST, "SPEC", "one that FN fills or changes: 4xf32 2xf32=1,2",
	  .target = &O.arguments, .with = "run", .values = "value", .is_case_key = true },
	{ 0, "expect", MPK_OPT_LIST, "V", "what the next result must be, or 'ignored'",
	  .target = &O.expects, .with = "run", .values = "value", .is_case_key = true },
	{ 'o', "output", MPK_OPT_LIST, "FILE", "where to write; of run a result: [N=]@FILE.npy",
	  .target = &O.outputs, .path = MPK_WRITES_RESULT, .with = "*", .values = "value" },
	{ 0, "source", MPK_OPT_LIST, "FILE", "with html: a source to show beside machine code",
	  .target = &O.sources, .path = MPK_READS_FILE, .with = "html" },
	{ 0, "times", MPK_OPT_TEXT, "FILE.json",
	  "with html: what --profile wrote, as colours of graphs", .target = &O.times,
	  .path = MPK_READS_FILE, .with = "html", .values = "files: *.json" },
	{ 0, "raw", MPK_OPT_FLAG, NULL, "with show: the payload as it stands in the blob",
	  .target = &O.raw, .with = "show" },
	{ 0, "device", MPK_OPT_TEXT, "DEV[:N]", "where tensors live: cpu, opencl, cuda or rocm",
	  .target = &O.device, .with = "run cases", .values = "words: cpu opencl cuda rocm" },
	{ 0, "params", MPK_OPT_TEXT, "FILE", "weights of a model: .params .npz .safetensors ...",
	  .target = &O.params, .with = "run cases", .values = "files: *.params *.npz" },
	{ 0, "header", MPK_OPT_TEXT, "OUT.h", "its functions as C declares them, and OUT.pyi",
	  .target = &O.header, .path = MPK_WRITES_FILE, LOOKS(minspect_header) },
	{ 0, "baseline", MPK_OPT_TEXT, "B.json",
	  "do kernels need more than they did? no GPU is used", .target = &O.baseline,
	  .path = MPK_READS_FILE, LOOKS(minspect_baseline) },
	{ 0, "svg", MPK_OPT_FLAG, NULL, "a picture of where its bytes are; -o map.svg",
	  .target = &O.svg, LOOKS(minspect_svg) },
	{ 0, "code-digest", MPK_OPT_FLAG, NULL,
	  "SHA-256 of each kernel's code, equal for clean rebuilds", .target = &O.code_digest,
	  LOOKS(minspect_code_digest) },
	{ 0, "occupancy", MPK_OPT_FLAG, NULL,
	  "how many warps of each kernel a GPU runs at once; no GPU is used",
	  .target = &O.occupancy, LOOKS(minspect_occupancy) },
	/* as a word alone it is the action: the option --memory of --check comes first here */
	{ 0, "memory", MPK_OPT_TEXT, "SIZE", "with check: what calls of a model may take",
	  .target = &O.memory_budget, .with = "check" },
	{ 0, "memory", MPK_OPT_FLAG, NULL,
	  "of a model: what a call takes over time, from its code; nothing runs",
	  .target = &O.model_memory, LOOKS(minspect_model_memory) },
	{ 0, "shape", MPK_OPT_LIST, "NAME=N", "an extent of inputs: n=2048; others are 1",
	  .target = &O.shapes, .with = "memory check html" },
	{ 0, "stats", MPK_OPT_FLAG, NULL,
	  "of weights: least, greatest, mean, deviation, zeros, NaN of each tensor",
	  .target = &O.stats, LOOKS(minspect_show) },
	{ 0, "dot", MPK_OPT_TEXT, "tree|model", "the modules, or the model, for Graphviz",
	  .target = &O.dot, LOOKS(minspect_dot) },
	{ 0, "tvm", MPK_OPT_LIST, "0.27", "with check: the TVM release there, or ffi",
	  .target = &O.releases, .with = "check", .values = "releases" },
	{ 0, "runtime", MPK_OPT_LIST, "LIB", "with check: a library whose loaders are there",
	  .target = &O.runtimes, .with = "check", .values = "files: *.so *.so.*" },
	{ 0, "machine", MPK_OPT_TEXT, "NAME", "with check: x86_64, aarch64, ...",
	  .target = &O.machine, .with = "check",
	  .values = "words: x86_64 aarch64 arm i386 riscv64 ppc64le s390x loongarch64" },
	{ 0, "glibc", MPK_OPT_TEXT, "2.28", "with check: the glibc there", .target = &O.glibc,
	  .with = "check" },
	{ 0, "libs", MPK_OPT_LIST, "DIR", "with check: where the libraries from there are",
	  .target = &O.libs, .with = "check" },
	{ 0, "provides", MPK_OPT_LIST, "LIB|NAME*",
	  "with check: a host that defines symbols, or their names", .target = &O.provides,
	  .with = "check", .values = "files: *" },
	{ 0, "only", MPK_OPT_TEXT, "CHECK[,CHECK]", "with check: these checks alone: device, glibc",
	  .target = &O.only, .with = "check",
	  .values =
		  "words: machine format loader payload linking glibc library symbol function device driver abi memory" },
	{ 0, "abi", MPK_OPT_TEXT, "POLICY[,POLICY]",
	  "with check: manylinux_2_28, abi3-3.9, cxx11, tvm-ffi", .target = &O.abi, .with = "check",
	  .values =
		  "words: manylinux_2_17 manylinux_2_28 manylinux_2_34 abi3 abi3-3.9 cxx11 tvm-ffi torch-stable any" },
	{ 0, "device-arch", MPK_OPT_LIST, "ARCH,...", "with check: the GPUs there: sm_90, gfx90a",
	  .target = &O.devices_there, .with = "check occupancy",
	  .values =
		  "words: sm_70 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100a sm_103 sm_120 gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100 gfx1201" },
	{ 0, "own-code", MPK_OPT_FLAG, NULL,
	  "with --device-arch: machine code for each, PTX does not do", .target = &O.own_code,
	  .with = "check" },
	{ 0, "strict", MPK_OPT_FLAG, NULL,
	  "with --device-arch: code for other GPUs alone is an error", .target = &O.strict,
	  .with = "check" },
	{ 0, "allow-part", MPK_OPT_FLAG, NULL,
	  "with --device-arch: code for older GPUs alone is a warning", .target = &O.allow_part,
	  .with = "check" },
	{ 0, "driver", MPK_OPT_TEXT, "12.4", "with check: the CUDA version of the driver there",
	  .target = &O.driver, .with = "check" },
	{ 0, "call-metadata", MPK_OPT_FLAG, NULL,
	  "with functions: run FILE's own code to ask it what its functions take",
	  .target = &O.call_metadata, .with = "functions" },
	{ 0, "max-memory", MPK_OPT_TEXT, "SIZE",
	  "how much it may take (default: 64 MiB and 4 times FILE)", .target = &O.max_memory,
	  .values = "words: none" },
	{ 0, "digest", MPK_OPT_TEXT, "NAME", "with extract: xxh128 (default), sha256 or none",
	  .target = &O.digest, .with = "extract", .values = "words: xxh128 sha256 none" },
	{ 0, "pubkey", MPK_OPT_TEXT, "KEY",
	  "with verify: FILE must be signed by the Ed25519 key in KEY", .target = &O.pubkey,
	  .with = "verify" },
	{ 0, "spills", MPK_OPT_FLAG, NULL, "with functions: kernels that keep registers in memory",
	  .target = &O.spills, .with = "functions" },
	{ 0, "sort", MPK_OPT_TEXT, "COLUMN", "with functions: code, registers, stack, name, ...",
	  .target = &O.sort, .with = "functions",
	  .values = "words: code registers stack shared variants name occupancy" },
	{ 0, "top", MPK_OPT_TEXT, "N", "with functions: the first N rows of the table",
	  .target = &O.top, .with = "functions" },
	{ 0, "builder", MPK_OPT_TEXT, "URI", "with attestation: who built it", .target = &O.builder,
	  .with = "attestation" },
	{ 0, "budget", MPK_OPT_TEXT, "SIZE", "with size: status 1 when FILE is larger",
	  .target = &O.budget, .with = "size" },
	{ 0, "csv", MPK_OPT_FLAG, NULL, "with size: rows for a spreadsheet", .target = &O.csv,
	  .with = "size" },
	{ 0, "markdown", MPK_OPT_FLAG, NULL, "with diff, --size, --baseline: for a pull request",
	  .target = &O.markdown, .with = "diff size baseline" },
	{ 0, "ignore", MPK_OPT_TEXT, "noise",
	  "with diff: compare code, not paths, times, line tables", .target = &O.ignore,
	  .with = "diff", .values = "words: noise" },
	{ 0, "tolerance", MPK_OPT_TEXT, "PERCENT",
	  "with baseline: by how much figures may grow (default: 0)", .target = &O.tolerance,
	  .with = "baseline" },
	{ 0, "update-baseline", MPK_OPT_FLAG, NULL, "with baseline: write B.json anew",
	  .target = &O.update_baseline, .with = "baseline" },
	{ 0, "atol", MPK_OPT_TEXT, "X", "absolute difference that --expect allows",
	  .target = &O.atol, .with = "run cases" },
	{ 0, "rtol", MPK_OPT_TEXT, "X", "relative difference that --expect allows",
	  .target = &O.rtol, .with = "run cases" },
	{ 0, "repeat", MPK_OPT_TEXT, "N", "call N times and print a timing summary",
	  .target = &O.repeat, .with = "run", .is_case_key = true },
	{ 0, "warmup", MPK_OPT_TEXT, "N", "calls before those that are timed", .target = &O.warmup,
	  .with = "run", .is_case_key = true },
	{ 0, "full", MPK_OPT_FLAG, NULL, "every element of the results, however many",
	  .target = &O.full, .with = "run" },
	{ 0, "profile", MPK_OPT_MAYBE, "FILE.json",
	  "time by operator of a model; FILE: a trace for Perfetto", .target = &O.profile,
	  .path = MPK_WRITES_FILE, .with = "run" },
	{ 0, "trace", MPK_OPT_FLAG, NULL, "each instruction of a model as it runs",
	  .target = &O.trace, .with = "run" },
	{ 0, "dump", MPK_OPT_TEXT, "DIR", "what each operator of a model computes, as .npy",
	  .target = &O.dump, .path = MPK_WRITES_FOLDER, .with = "run" },
	{ 0, "compare", MPK_OPT_TEXT, "DIR", "compare with what --dump wrote of another run",
	  .target = &O.compare, .with = "run" },
	{ 0, "isolate", MPK_OPT_FLAG, NULL, "FN keeps no files, connections, processes; cpu only",
	  .target = &O.isolate, .with = "run cases functions" },
	{ 0, "force", MPK_OPT_FLAG, NULL, "run what verify finds errors in; overwrite any file",
	  .target = &O.force, .path = MPK_WRITES_FORCE, .with = "*" },
	{ 0, "timeout", MPK_OPT_TEXT, "S", "give up after S seconds", .target = &O.timeout,
	  .with = "run cases functions" },
	{ 0, "grid", MPK_OPT_TEXT, "X[,Y[,Z]]", "blocks, when FN is a kernel", .target = &O.grid,
	  .with = "run", .is_case_key = true },
	{ 0, "block", MPK_OPT_TEXT, "X[,Y[,Z]]", "threads of a block, when FN is a kernel",
	  .target = &O.block, .with = "run occupancy", .is_case_key = true },
	{ 0, "shared", MPK_OPT_TEXT, "BYTES", "dynamic shared memory, when FN is a kernel",
	  .target = &O.shared, .with = "run occupancy", .is_case_key = true },
	{ 0, "tvm-ffi", MPK_OPT_TEXT, "PATH", "the libtvm_ffi.so that FILE needs",
	  .target = &O.tvm_ffi, .with = "run cases functions", .values = "files: *.so *.so.*" },
	{ 0, "provide", MPK_OPT_LIST, "LIB", "a library with functions that FILE calls and has not",
	  .target = &O.provide, .with = "run cases", .values = "files: *.so *.so.*" },
	{ 0, "junit", MPK_OPT_TEXT, "OUT.xml",
	  "write the result of cases or --baseline as JUnit XML", .target = &O.junit,
	  .path = MPK_WRITES_FILE, .with = "cases baseline" },
	{ 0, "tap", MPK_OPT_FLAG, NULL, "print the result of cases as TAP", .target = &O.tap,
	  .with = "cases" },
	{ 0, "filter", MPK_OPT_LIST, "NAME",
	  "only what is named like NAME, or by a pattern with * ? [", .target = &O.filters,
	  .with = "cases functions size occupancy memory stats none", .values = "functions" },
	{ 0, "all", MPK_OPT_FLAG, NULL, "all of the answer, however long it is", .target = &O.all,
	  .with = "check functions size verify occupancy memory diff code-digest disasm none" },
	{ 0, "no-skip", MPK_OPT_FLAG, NULL, "a case that would be skipped fails",
	  .target = &O.no_skip, .with = "cases" },
	{ 0, "sbom", MPK_OPT_MAYBE, "FORM", "a bill of materials: cyclonedx (default) or spdx",
	  .target = &O.sbom, .values = "words: cyclonedx spdx", LOOKS(minspect_sbom) },
	{ 0, "attestation", MPK_OPT_MAYBE, "FORM",
	  "what it was built from, for SLSA: statement (default) or predicate",
	  .target = &O.attestation, .values = "words: statement predicate",
	  LOOKS(minspect_attestation) },
	{ 0, "devices", MPK_OPT_FLAG, NULL, "list the devices that --device can name",
	  .target = &O.devices, ALONE(minspect_devices) },
	{ 0, "explain", MPK_OPT_MAYBE, "ID",
	  "what the word in brackets behind a finding means; none: list them", .target = &O.explain,
	  .values = "ids", ALONE(explain_operand) },
	{ 0 },
};

const struct mpk_command minspect_command = {
	.name = "",
	.usage = "minspect [ACTION] [OPTION]... FILE...",
	.summary = "Show, check and call what a compiled module holds. FILE may also be a member,\n"
		   "lib.a(devc.o) or app.whl!/lib.so. An action is a word or an option, --verify.",
	.examples = "  minspect deploy.so\n"
		    "  minspect functions --json deploy.so\n"
		    "  minspect run addone deploy.so --input 4xf32=1,2,3,4 --out 4xf32\n",
	.options = options,
	.screen = 12,
	.has_words = true,
};

enum mpk_code run_parse_extents(const char *option, const char *text, uint64_t out[3],
				struct mpk_error *err)
{
	const char *at = text;

	for (unsigned axis = 0; text && axis < 3; axis++) {
		size_t len = strcspn(at, ",");

		if (!mpk_parse_u64(mpk_span_of(at, len), &out[axis]) || out[axis] == 0 ||
		    out[axis] > INT32_MAX)
			break;
		at += len;
		if (!*at)
			return MPK_OK;
		at++;
	}
	if (!text)
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"--%s: expected X, X,Y or X,Y,Z, each from 1 to 2147483647, got '%s'",
			option, MPK_QUOTE(mpk_span_str(text)));
}
