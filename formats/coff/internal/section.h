/* SPDX-License-Identifier: Apache-2.0 */
/* section.h - what COFF objects and PE files share: machines and section headers */
#ifndef MPK_COFF_INTERNAL_SECTION_H
#define MPK_COFF_INTERNAL_SECTION_H

#include "coff/coff.h"

enum { MPK_COFF_HEADER = 20, MPK_COFF_SECTION = 40 };

/* mpk_coff_machine - EM_* for a machine number; 0: it has none there */
uint16_t mpk_coff_machine(uint16_t number);

/* mpk_coff_sections - the section headers at off
 * @strings  long names of objects; empty in PE files
 * @out      count of them; addresses are 0 in objects
 * Returns   MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_coff_sections(struct mpk_span bytes, uint64_t off, size_t count,
				struct mpk_span strings, struct mpk_arena *arena,
				struct mpk_object_section **out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
