/* SPDX-License-Identifier: Apache-2.0 */
/* mpack.h - the commands of mpack, one file each, and the private key that three of them read */
#ifndef MPK_CMD_MPACK_MPACK_H
#define MPK_CMD_MPACK_MPACK_H

#include "trust/key.h"

/* The manifest's file name if none is given. */
#define MPACK_MANIFEST "mpack.toml"

/* mpack_build - build the library of a manifest; argv[0] is the command's name
 * Returns  the exit status */
int mpack_build(int argc, char **argv);

/* mpack_check - check a manifest and every payload; argv[0] is the command's name
 * Returns  the exit status */
int mpack_check(int argc, char **argv);

/* mpack_edit - replace payloads in a library or blob; argv[0] is the command's name
 * Returns  the exit status */
int mpack_edit(int argc, char **argv);

/* mpack_init - print a manifest filled in from files; argv[0] is the command's name
 * Returns  the exit status */
int mpack_init(int argc, char **argv);

/* mpack_sign - sign a finished library; argv[0] is the command's name
 * Returns  the exit status */
int mpack_sign(int argc, char **argv);

/* mpack_thin - remove GPU code from a library or wheel; argv[0] is the command's name
 * Returns  the exit status */
int mpack_thin(int argc, char **argv);

/* mpack_unpack - take a library or blob apart; argv[0] is the command's name
 * Returns  the exit status */
int mpack_unpack(int argc, char **argv);

/* mpack_memory_begin - before the sandbox and the first byte of a file: limit unpacked bytes
 * (base/account.h) and the memory of this process, which starts no compiler */
void mpack_memory_begin(void);

/* mpk_key_open - read a private key, and load the library that signs, before anything is built and
 * while the process may open files
 * @output  must be another file; NULL if not known yet
 * @key     receives a page that child processes do not inherit; call mpk_key_close in every case
 * Returns  MPK_OK; MPK_E_USAGE: output is the key; MPK_E_NOMEM; as mpk_secret_key_read
 * mpk_key_close - erase and free it; NULL does nothing */
enum mpk_code mpk_key_open(const char *path, const char *output, struct mpk_secret_key **key,
			   struct mpk_error *err) MPK_MUST_CHECK;
void mpk_key_close(struct mpk_secret_key **key);

#endif
