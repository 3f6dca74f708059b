/* SPDX-License-Identifier: Apache-2.0 */
/* helpers.c - the two helper processes, in which LLVM and the tools of GPU vendors read untrusted
 * code
 *
 * One helper opens LLVM at its first request and then gives up all files and nearly all system
 * calls. The other starts a program for each request. The program gets its input under a name in
 * /proc, so that nothing is written to disk. It may read libraries, start itself, and write to its
 * standard output. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "disasm/internal/job.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"
#include "llvm/llvm.h"

/* limits for LLVM's helper, and for each started program */
enum { MEMORY_BYTES = 1 << 30, CPU_SECONDS = 120 };

/* Limits the memory and CPU time of this process to what a disassembler needs. */
static void limit_helper(void)
{
	const struct rlimit memory = { MEMORY_BYTES, MEMORY_BYTES };
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS }, core = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_CPU, &cpu);
	/* sanitizer shadow memory counts as data and exceeds any limit */
	if (!MPK_IS_SANITIZED)
		(void)setrlimit(RLIMIT_DATA, &memory);
}

/* --- LLVM --------------------------------------------------------------------------------------------- */

/* A row without text marks bytes that LLVM could not decode. */
static void put_llvm_row(const struct mpk_llvm_instruction *i, void *arg)
{
	size_t len = i->text ? strlen(i->text) : 0;
	struct mpk_disasm_row row = {
		.address = i->address,
		.target = i->target,
		.bytes = (uint32_t)i->bytes,
		.text_bytes = (uint16_t)(len < UINT16_MAX ? len : UINT16_MAX),
		.has_text = i->text != NULL,
		.has_target = i->has_target,
	};

	mpk_strbuf_put(arg, (const char *)&row, sizeof row);
	mpk_strbuf_put(arg, i->text, row.text_bytes);
}

/* LLVM is opened before the first request is read: the contents of the request may take over the
 * process. */
static enum mpk_code open_llvm(const struct mpk_disasm_setup *setup, const struct mpk_llvm **out,
			       struct mpk_error *err)
{
	static const struct mpk_llvm *llvm;
	const struct mpk_sandbox nothing = { 0 };

	if (!llvm) {
		limit_helper();
		if (mpk_llvm_open(setup->llvm, &llvm, NULL) != MPK_OK)
			return mpk_fail(
				err, MPK_E_LOAD,
				"machine code is disassembled by LLVM 19, which cannot be "
				"loaded (%s); install libLLVM 19 (Debian: libllvm19, which mpack-tvm-llvm brings)",
				MPK_QUOTE(mpk_span_str(setup->llvm)));
		if (!setup->no_sandbox && !MPK_IS_SANITIZED)
			(void)mpk_sandbox_enter(&nothing);
	}
	*out = llvm;
	return MPK_OK;
}

static enum mpk_code answer_code(void *data, struct mpk_span bytes, struct mpk_strbuf *answer,
				 struct mpk_error *err)
{
	const struct mpk_llvm *llvm;
	struct mpk_disasm_question q;

	if (bytes.len < sizeof q)
		return mpk_fail(err, MPK_E_INTERNAL, "a question without its head");
	memcpy(&q, bytes.data, sizeof q);
	/* the strings came through a pipe, so their terminators are not trusted */
	q.triple[sizeof q.triple - 1] = q.cpu[sizeof q.cpu - 1] = '\0';
	q.features[sizeof q.features - 1] = '\0';
	MPK_TRY(open_llvm(data, &llvm, err));
	const struct mpk_llvm_code code = {
		.triple = q.triple,
		.cpu = q.cpu,
		.features = q.features,
		.address = q.address,
		.bytes = mpk_span_of(bytes.data + sizeof q, bytes.len - sizeof q),
		.step = q.step ? q.step : 1,
	};
	return llvm->disassemble(&code, put_llvm_row, answer, err);
}

/* --- programs: in the program's process ---------------------------------------------------------------- */

/* time limit for one file; a tool that takes longer hangs */
static const double SECONDS = 60;

static const struct tool {
	const char *name, *option;
	const char *
		lines; /* option that follows the file: print source lines from debug information */
	const char *install;
} known[] = {
	[MPK_DISASM_NVDISASM] = { "nvdisasm", "-c", "-g",
				  "it comes with NVIDIA's CUDA toolkit, and from PyPI as "
				  "nvidia-cuda-nvdisasm; name its folder in PATH, or the toolkit in CUDA_HOME" },
	[MPK_DISASM_SPIRV_DIS] = { "spirv-dis", "--no-color", NULL,
				   "it comes with SPIRV-Tools (Debian: spirv-tools)" },
};

/* One start of a program. */
struct job {
	const struct mpk_disasm_setup *setup;
	const struct tool *tool;
	char program[PATH_MAX];
	int input, output, messages; /* unnamed files */
};

/* Resolves links, since the sandbox allows the program to read the folder of the real path only. */
static bool find_program(struct job *j, const char *const *paths)
{
	for (; paths && *paths; paths++)
		if (access(*paths, X_OK) == 0 && realpath(*paths, j->program))
			return true;
	return false;
}

/* A kernel without Landlock provides no sandbox. The program runs all the same: the limits of
 * limit_helper still hold. */
static void enter_sandbox(const struct job *j)
{
	char folder[PATH_MAX];
	const char *readable[] = {
		"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/self/maps", "/dev/null", folder
	};
	const struct mpk_sandbox s = { .readable = readable,
				       .readable_count = MPK_ARRAY_COUNT(readable),
				       .runs_programs = true };
	char *slash;

	(void)snprintf(folder, sizeof folder, "%s", j->program);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	if (!j->setup->no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&s);
}

static enum mpk_code become_program(struct mpk_process_self *self, void *data,
				    struct mpk_error *err)
{
	const struct job *j = data;
	char file[40];
	const char *const argv[] = { j->tool->name, j->tool->option, file, j->tool->lines, NULL };
	/* a program that reads a hostile file gets nothing of the user's environment */
	const char *const environment[] = { "LC_ALL=C", "PATH=/usr/bin:/bin", NULL };

	(void)self;
	/* opening by this name reads the file from its beginning, whatever the offset of
	 * j->input */
	(void)snprintf(file, sizeof file, "/proc/self/fd/%d", j->input);
	limit_helper();
	/* the program inherits only the input, whose close-on-exec flag is cleared */
	if (dup2(j->output, STDOUT_FILENO) < 0 || dup2(j->messages, STDERR_FILENO) < 0 ||
	    fcntl(j->input, F_SETFD, 0) < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot give a program its files");
	enter_sandbox(j);
	(void)execve(j->program, (char *const *)(uintptr_t)argv,
		     (char *const *)(uintptr_t)environment);
	return mpk_fail_errno(err, MPK_E_TOOL, errno, "cannot start %s", j->tool->name);
}

/* --- programs: in the helper ---------------------------------------------------------------------------- */

/* The program shares the descriptor's offset and left it at the end of its output. */
static enum mpk_code tool_load(int fd, struct mpk_strbuf *out, struct mpk_error *err)
{
	char piece[4096];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read what a program printed");
	while ((n = read(fd, piece, sizeof piece)) > 0 && out->len <= MPK_HELPER_MAX)
		mpk_strbuf_put(out, piece, (size_t)n);
	return mpk_strbuf_status(out, err);
}

/* Says in words why the program failed: a failure before it started, a timeout, a signal, or the
 * first line of its messages. */
static enum mpk_code say_failure(const struct job *j, const struct mpk_process_end *end,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_span line;

	if (end->how == MPK_PROCESS_RETURNED) {
		*err = end->error;
		return mpk_failed(err->code);
	}
	if (end->how == MPK_PROCESS_LATE)
		return mpk_fail(err, MPK_E_TOOL, "%s took longer than %.0f seconds", j->tool->name,
				SECONDS);
	if (end->how == MPK_PROCESS_KILLED)
		return mpk_fail(err, MPK_E_TOOL, "%s was ended by signal %d", j->tool->name,
				end->status);
	MPK_TRY(tool_load(j->messages, &text, err));
	line = mpk_span_of(mpk_strbuf_text(&text), strcspn(mpk_strbuf_text(&text), "\n"));
	return mpk_fail(err, MPK_E_TOOL, "%s refuses this code: %s", j->tool->name,
			line.len ? MPK_QUOTE(line) : "it does not say why");
}

static enum mpk_code tool_run(struct job *j, struct mpk_span file, struct mpk_strbuf *out,
			      struct mpk_error *err)
{
	struct mpk_process p = {
		.run = become_program,
		.data = j,
		.output = MPK_OUTPUT_DISCARD,
		.timeout = SECONDS,
		.contained = true,
	};
	struct mpk_process_end end;

	if (j->input < 0 || j->output < 0 || j->messages < 0 ||
	    write(j->input, file.data, file.len) != (ssize_t)file.len)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot hand the code to %s",
				      j->tool->name);
	MPK_TRY(mpk_process_run(&p, 1, 1, &end, err));
	/* the exit status is that of the program, since exec replaced the child process */
	if (end.how != MPK_PROCESS_QUIT || end.status != 0)
		return say_failure(j, &end, err);
	return tool_load(j->output, out, err);
}

static void close_job(struct job *j)
{
	const int fds[] = { j->input, j->output, j->messages };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

static enum mpk_code answer_tool(void *data, struct mpk_span bytes, struct mpk_strbuf *answer,
				 struct mpk_error *err)
{
	const struct mpk_disasm_setup *setup = data;
	MPK_CLEANUP(close_job)
	struct job j = { .setup = setup, .input = -1, .output = -1, .messages = -1 };
	unsigned tool = bytes.len ? bytes.data[0] : MPK_DISASM_TOOLS;

	if (tool >= MPK_DISASM_TOOLS)
		return mpk_fail(err, MPK_E_INTERNAL, "a question without its head");
	/* the request holds a number, not a path: the sender has read
	 * the file and may be taken over */
	j.tool = &known[tool];
	if (!find_program(&j, setup->tools[tool]))
		return mpk_fail(err, MPK_E_LOAD,
				"this code is disassembled by %s, which is not here: %s",
				j.tool->name, j.tool->install);
	j.input = memfd_create("code", MFD_CLOEXEC);
	j.output = memfd_create("text", MFD_CLOEXEC);
	j.messages = memfd_create("messages", MFD_CLOEXEC);
	return tool_run(&j, mpk_span_from(bytes, 1), answer, err);
}

/* --- both ------------------------------------------------------------------------------------------------ */

enum mpk_code mpk_disasm_start(const struct mpk_disasm_setup *setup, struct mpk_disasm *out,
			       struct mpk_error *err)
{
	void *data = (void *)(uintptr_t)setup; /* the functions only read it */

	*out = (struct mpk_disasm){ 0 };
	MPK_TRY(mpk_helper_start(answer_code, data, &out->llvm, err));
	return mpk_helper_start(answer_tool, data, &out->tools, err);
}

void mpk_disasm_stop(struct mpk_disasm *d)
{
	mpk_helper_stop(&d->llvm);
	mpk_helper_stop(&d->tools);
	mpk_strbuf_fini(&d->answer);
}
