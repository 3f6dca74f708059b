/* SPDX-License-Identifier: Apache-2.0 */
/* zip.h - declarations that the readers of directories and of members share */
#ifndef MPK_FORMATS_ZIP_INTERNAL_ZIP_H
#define MPK_FORMATS_ZIP_INTERNAL_ZIP_H

#include "zip/zip.h"

/* mpk_zip_bad - fail with MPK_E_CORRUPT at an offset, with a sentence about the archive */
enum mpk_code mpk_zip_bad(const char *space, uint64_t off, const char *what, struct mpk_error *err);

/* mpk_zip_raw - find the stored bytes of a member
 * Returns  MPK_OK; MPK_E_CORRUPT: it is not where the directory says */
enum mpk_code mpk_zip_raw(struct mpk_span zip, const struct mpk_zip_member *m, const char *space,
			  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_zip_end - find the record at the end of the archive, which only a comment may follow
 * Returns  MPK_OK; MPK_E_CORRUPT: there is none */
enum mpk_code mpk_zip_end(struct mpk_span zip, const char *space, size_t *out,
			  struct mpk_error *err) MPK_MUST_CHECK;

#endif
