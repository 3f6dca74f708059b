/* SPDX-License-Identifier: Apache-2.0 */
/* Enters the sandbox of an action. Nothing of a file that is inspected is ever executed; should
 * a reader have a bug after all, the kernel still holds the process to the files that the
 * command line names, and to system calls that an inspection needs. */
#include "common/confine.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "common/diag.h"
#include "io/path.h"
#include "sandbox/sandbox.h"

static void add_readable(struct mpk_confine *c, const char *path)
{
	if (mpk_vec_reserve(&c->readable, &c->readable_cap, c->readable_count + 1,
			    sizeof *c->readable))
		c->readable[c->readable_count++] = path;
	else
		c->failed = true;
}

/* "app.whl!/pkg/lib.so": the text before any of the separators may be the name of the archive. */
static void add_archives(struct mpk_confine *c, const char *path)
{
	for (const char *at = strstr(path, "!/"); at; at = strstr(at + 1, "!/")) {
		char *archive = strndup(path, (size_t)(at - path));

		if (archive && access(archive, F_OK) == 0)
			add_readable(c, archive); /* lives as long as the process */
		else
			free(archive);
	}
}

void mpk_confine_input(struct mpk_confine *c, const char *path)
{
	/* "lib.a(devc.o)" names a member: the archive is what has to be readable. */
	const char *member = path ? strrchr(path, '(') : NULL;

	if (!path || strcmp(path, "-") == 0)
		return;
	add_readable(c, path);
	add_archives(c, path);
	if (!member || member == path || access(path, F_OK) == 0)
		return;
	/* lives as long as the process, as command lines do */
	char *archive = strndup(path, (size_t)(member - path));

	if (archive)
		add_readable(c, archive);
	c->failed |= !archive;
}

void mpk_confine_output(struct mpk_confine *c, const char *path)
{
	if (!path || !*path || strcmp(path, "-") == 0 || c->writable_count == MPK_CONFINE_MAX)
		return;
	/* a link is replaced where it leads to */
	char *target = realpath(path, NULL), *parent = NULL;

	if (!target)
		target = strdup(path);
	/* "out/" and "out" are one folder; its parent is what a rename needs rights for. */
	for (size_t len = target ? strlen(target) : 0; len > 1 && target[len - 1] == '/'; len--)
		target[len - 1] = '\0';
	if (target)
		parent = mpk_path_folder(target);
	free(target);
	if (parent)
		c->writable[c->writable_count++] = parent;
	c->failed |= !parent;
}

void mpk_confine_options(struct mpk_confine *c, const struct mpk_option *options)
{
	for (const struct mpk_option *row = options; row->name; row++) {
		for (size_t i = 0; row->path && i < mpk_option_count(row); i++) {
			const char *path = mpk_option_value(row, i);

			if (row->path >= MPK_WRITES_FILE)
				mpk_confine_output(c, path);
			else
				mpk_confine_input(c, path);
		}
	}
}

static void confine_enter(const struct mpk_confine *c)
{
	const struct mpk_sandbox s = {
		.readable = c->readable,
		.readable_count = c->readable_count,
		.writable = (const char *const *)c->writable,
		.writable_count = c->writable_count,
		/* A file that is replaced hands its mode and owner to the new one, which takes
		 * more rights. */
		.replaces = c->writable_count > 0,
		.emptied = c->emptied,
	};
	struct mpk_sandbox_state state;

	/* A sandbox with half of the names would refuse files that the user named. */
	if (c->failed) {
		mpk_diag_note("no sandbox: memory is out");
		return;
	}
	(void)setlocale(LC_CTYPE, ""); /* reads files of its own */
	state = mpk_sandbox_enter(&s);
	/* Old kernels lack one or the other; the program then goes on with what there is. */
	if (!state.files)
		mpk_diag_note("files are not confined: this system has no Landlock");
	if (!state.calls)
		mpk_diag_note("system calls are not confined: this system has no seccomp");
}

void mpk_confine(struct mpk_confine *c)
{
	/* a sanitizer's runtime starts a process to look for leaks, and reads files of /proc */
	if (!mpk_common.no_sandbox && !MPK_IS_SANITIZED)
		confine_enter(c);
	for (size_t i = 0; i < c->writable_count; i++)
		free(c->writable[i]);
	free(c->emptied);
	free(c->readable);
	*c = (struct mpk_confine){ 0 };
}
