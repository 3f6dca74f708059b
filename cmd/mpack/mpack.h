/* SPDX-License-Identifier: Apache-2.0 */
/* mpack.h - the commands of mpack: one file each */
#ifndef MPK_CMD_MPACK_MPACK_H
#define MPK_CMD_MPACK_MPACK_H

/* What a manifest is called when none is named. */
#define MPACK_MANIFEST "mpack.toml"

/* mpack_build - pack what a manifest names; argv[0] is the command's name
 * Returns  the exit status */
int mpack_build(int argc, char **argv);

/* mpack_check - validate a manifest and every payload; argv[0] is the command's name
 * Returns  the exit status */
int mpack_check(int argc, char **argv);

/* mpack_edit - swap payloads in a library or blob; argv[0] is the command's name
 * Returns  the exit status */
int mpack_edit(int argc, char **argv);

/* mpack_init - print a manifest filled in from files; argv[0] is the command's name
 * Returns  the exit status */
int mpack_init(int argc, char **argv);

/* mpack_sign - sign a finished library; argv[0] is the command's name
 * Returns  the exit status */
int mpack_sign(int argc, char **argv);

/* mpack_unpack - take a library or blob apart; argv[0] is the command's name
 * Returns  the exit status */
int mpack_unpack(int argc, char **argv);

#endif
