/* SPDX-License-Identifier: Apache-2.0 */
/* module_made.h - the modules of tests/modules, built beside the unit tests, and where they lie */
#ifndef MPK_TESTS_UNIT_MODULE_MADE_H
#define MPK_TESTS_UNIT_MODULE_MADE_H

#include "assert_error.h"
#include "base/arena.h"
#include "elf/image.h"
#include "harness.h"
#include "io/mapping.h"
#include "session/call.h"

static char modules[4000];

/* <dir>/tests/unit/check_runtime -> <dir>/tests/modules */
HARNESS_FN bool find_modules(void)
{
	char self[3900];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	if (len <= 0)
		return false;
	self[len] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(self, '/');

		if (slash)
			*slash = '\0';
	}
	(void)snprintf(modules, sizeof modules, "%s/tests/modules", self);
	return true;
}

/* The fixtures are libraries for x86-64. */
#if defined __x86_64__ && !defined __ILP32__
#define FIXTURES_RUN_HERE true
#else
#define FIXTURES_RUN_HERE false
#endif

/* A module's file, read as minspect reads it. */
struct module_file {
	struct mpk_mapping map;
	struct mpk_arena arena;
	struct mpk_image image;
	struct mpk_library_options options;
};

HARNESS_FN void module_file_open(struct module_file *f, const char *name)
{
	struct mpk_error err = { 0 };
	char path[4100];

	(void)snprintf(path, sizeof path, "%s/%s.so", modules, name);
	ck_assert_ok(mpk_mapping_open(path, &f->map, &err), err);
	ck_assert_ok(mpk_image_open(f->map.bytes, NULL, &f->arena, &f->image, &err), err);
	f->options = (struct mpk_library_options){
		.path = mpk_arena_text(&f->arena, mpk_span_str(path)),
		.image = &f->image,
	};
	ck_assert_ok(mpk_library_check(&f->options, &err), err);
}

HARNESS_FN void module_file_close(struct module_file *f)
{
	mpk_arena_fini(&f->arena);
	mpk_mapping_close(&f->map);
}

#endif
