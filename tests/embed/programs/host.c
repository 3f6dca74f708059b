/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - a program whose plug-in comes and goes, and knows nothing of libmpk-run: host PLUGIN MODEL */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Entries of a folder of /proc: threads, or open files. */
static int count(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int is_mapped(const char *name)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && fgets(line, sizeof line, maps))
		found |= strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	int threads = count("/proc/self/task"), files = count("/proc/self/fd");

	if (argc != 3)
		return 2;
	for (int round = 0; round < 20; round++) {
		void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*classify)(const char *, float);

		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		classify = (int (*)(const char *, float))dlsym(plugin, "plugin_classify");
		for (int step = 0; step < 3; step++) {
			int best = classify(argv[2], (float)step);

			if (!round)
				printf("class %d\n", best);
		}
		dlclose(plugin);
	}
	printf("%s, %s\n",
	       count("/proc/self/task") == threads ? "no thread is left" : "threads are left",
	       count("/proc/self/fd") == files ? "no file is open" : "files are open");
	printf("%s\n", is_mapped(argv[1]) || is_mapped("mpk-library") ? "it stays" : "it is gone");
	return 0;
}
