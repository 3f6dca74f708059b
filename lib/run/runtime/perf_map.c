/* SPDX-License-Identifier: Apache-2.0 */
/* perf_map.c - names for perf(1) of code that is in no file
 *
 * perf reads symbols from the file of a mapping. For anonymous memory it reads /tmp/perf-PID.map, lines of an address, a
 * size and a name (tools/perf/Documentation/jit-interface.txt of Linux), if the file is the user's own. A file in memory
 * is neither, so that code in it is copied to memory without a file, in its place.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "elfdyn/elfdyn.h"
#include "runtime/internal/runtime.h"

/* The names are those of code that runs here anyway: nothing is asked of them. */
static void put_functions(const struct mpk_elfdyn *object, uintptr_t base, struct mpk_strbuf *out)
{
	struct mpk_elfdyn all = *object;
	struct mpk_symbol s;

	mpk_elfdyn_take_all_symbols(&all);
	const struct mpk_symbol_source source = mpk_elfdyn_source(&all);

	for (size_t i = 0; i < source.count; i++)
		if (source.get(source.self, i, &s, NULL) == MPK_OK && s.defined && s.bytes &&
		    s.type == STT_FUNC)
			mpk_strbuf_printf(out, "%llx %llx %s\n", (unsigned long long)base + s.value,
					  (unsigned long long)s.bytes, s.name);
}

/* A file of somebody else, or a link, that lies there under this name is left alone. */
static void append(const struct mpk_strbuf *text)
{
	struct stat file;
	char path[40];
	size_t done = 0;
	int fd;

	(void)snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid())
		while (done < text->len) {
			ssize_t n = pwrite(fd, text->data + done, text->len - done,
					   file.st_size + (off_t)done);

			if (n <= 0)
				break;
			done += (size_t)n;
		}
	(void)close(fd);
}

/* Nothing of the object runs yet but what its constructors have started. perf hears of code when it becomes executable,
 * which some systems forbid: the copy tells. */
static void replace(void *code, size_t bytes)
{
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return;
	memcpy(copy, code, bytes);
	if (mprotect(copy, bytes, PROT_READ | PROT_EXEC) == 0 &&
	    mmap(code, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		memcpy(code, copy, bytes);
		(void)mprotect(code, bytes, PROT_READ | PROT_EXEC);
	}
	(void)munmap(copy, bytes);
}

static void take_off_file(const struct mpk_elfdyn *object, uintptr_t base)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < object->load_count; i++) {
		const struct mpk_elfdyn_segment *s = &object->loads[i];
		uintptr_t from = (base + s->address) & ~(page - 1);
		uintptr_t end = (base + s->address + s->memory_bytes + page - 1) & ~(page - 1);

		if (s->is_code && s->memory_bytes == s->file_bytes)
			replace((void *)from, end - from);
	}
}

void mpk_perf_map_add(const struct mpk_elfdyn *object, uintptr_t base)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	put_functions(object, base, &text);
	if (text.len && mpk_strbuf_status(&text, NULL) == MPK_OK)
		append(&text);
	take_off_file(object, base);
}
