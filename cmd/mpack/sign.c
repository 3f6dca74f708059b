/* SPDX-License-Identifier: Apache-2.0 */
/* mpack sign writes a copy of any finished library with a signature in a note. This file also reads
 * the private key for the option --sign of build and edit, before the sandbox is entered, in which
 * neither the key nor libcrypto could be opened. */
#include "trust/seal.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "elf/image.h"
#include "io/mapping.h"
#include "io/output.h"
#include "mpack/mpack.h"
#include "toolchain/toolchain.h"

/* --- the private key --------------------------------------------------------------------- */

/* Compilers do not inherit this memory, but LLVM works in a child process without exec. On kernels
 * before Linux 4.14, which lack this advice, the key is in that child too. */
static struct mpk_secret_key *key_memory(void)
{
	struct mpk_secret_key *key =
		mmap(NULL, sizeof *key, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (key == MAP_FAILED)
		return NULL;
	(void)madvise(key, sizeof *key, MADV_WIPEONFORK);
	return key;
}

/* The check that no output replaces an input compares with open files. The key is closed before the
 * output appears, so it is compared here. */
static bool sign_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void mpk_key_close(struct mpk_secret_key **key)
{
	if (*key)
		mpk_secret_key_wipe(*key);
}

enum mpk_code mpk_key_open(const char *path, const char *output, struct mpk_secret_key **key,
			   struct mpk_error *err)
{
	*key = key_memory();
	MPK_TRY_ALLOC(*key, err);
	MPK_TRY(mpk_secret_key_read(path, *key, err));
	if (output && sign_is_same(path, output)) {
		enum mpk_code code =
			mpk_fail(err, MPK_E_USAGE, "this is the key, and would be overwritten");

		mpk_error_at_file(err, output);
		return code;
	}
	return mpk_ed25519_prepare(err);
}

/* --- mpack sign -------------------------------------------------------------------------- */

static const char *output, *key_path;
static bool durable, force;

static const struct mpk_option options[] = {
	{ 'o', "output", MPK_OPT_TEXT, "FILE", "write FILE; it may be the input", .target = &output,
	  .path = MPK_WRITES_EDITED },
	{ 'k', "key", MPK_OPT_TEXT, "KEY", "private Ed25519 key, PEM or OpenSSH's",
	  .target = &key_path },
	{ 0, "force", MPK_OPT_FLAG, NULL, "overwrite what mpack did not write", .target = &force,
	  .path = MPK_WRITES_FORCE },
	{ 0, "fsync", MPK_OPT_FLAG, NULL, "return when the output is on the disk",
	  .target = &durable },
	{ 0 },
};

static const struct mpk_command command = {
	.name = "sign",
	.usage = "mpack sign FILE -o OUT --key KEY",
	.summary = "Sign a library or object; what is loaded of it stays as it is.",
	.examples = "  openssl genpkey -algorithm ed25519 -out key.pem\n"
		    "  mpack sign deploy.so -o deploy.so --key key.pem\n"
		    "  minspect verify --pubkey key.pub deploy.so\n",
	.options = options,
};

static enum mpk_code sign(const char *path, const struct mpk_secret_key *key, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	struct mpk_image image;

	MPK_TRY(mpk_mapping_open(path, &map, err));
	/* a file that no loader accepts is not signed */
	MPK_TRY(mpk_image_open(map.bytes, NULL, &arena, &image, err));
	/* The signature is an ELF note after all loaded data. */
	if (image.container != MPK_CONTAINER_ELF_SO && image.container != MPK_CONTAINER_ELF_OBJ)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only libraries and objects of ELF have room for a signature; sign another file beside it: ssh-keygen -Y sign");

	/* A signature claims that the bytes are intact, so the digest is checked. */
	struct mpk_tree tree;

	/* A signature must not vouch for a file that --verify would refuse. */
	MPK_TRY(mpk_image_check_symbol(&image, err));
	if (image.has_blob)
		MPK_TRY(mpk_blob_read(image.blob, image.gen, &arena, &tree, err));
	MPK_TRY(mpk_image_check_digest(&image, &map, &arena, err));

	unsigned mode = image.container == MPK_CONTAINER_ELF_SO ? 0777 : 0666;
	const struct mpk_seal_job job = { .key = key };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_output *o = NULL;

	mpk_rope_put_view(&rope, map.bytes);
	mpk_mapping_use_file(&map, &rope);
	MPK_TRY(mpk_rope_status(&rope, err));
	/* -o may name the input. */
	mpk_mapping_may_be_replaced(&map);
	MPK_TRY(mpk_output_open(output, mode, &o, err));
	enum mpk_code code = mpk_output_write_rope(o, &rope, NULL, err);
	if (code == MPK_OK && mpk_output_is_through(o))
		code = mpk_fail(err, MPK_E_UNSUPPORTED,
				"what goes into a pipe or a device cannot be signed on its way");
	if (code == MPK_OK)
		code = mpk_seal_file(mpk_output_fd(o), &job, err);
	if (code == MPK_OK)
		code = mpk_confirm_output(o, NULL, err);
	return mpk_output_finish(o, code, err);
}

int mpack_sign(int argc, char **argv)
{
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (argc - first != 1)
		return mpk_diag_usage("sign takes one file, not %d", argc - first);
	if (!output)
		return mpk_diag_usage("no output given: name it with -o");
	if (!key_path)
		return mpk_diag_usage("no key given: name it with --key");

	const char *path = argv[first];
	MPK_CLEANUP(mpk_key_close) struct mpk_secret_key *key = NULL;
	struct mpk_error err = { 0 };

	if (mpk_key_open(key_path, output, &key, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (durable)
		mpk_output_make_durable();
	mpack_memory_begin();
	mpk_confine_to(path, options);
	if (sign(path, key, &err) == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}
