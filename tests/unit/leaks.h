/* SPDX-License-Identifier: Apache-2.0 */
/* leaks.h - what the leak checker is to pass over: memory of a driver that is not ours; once a program */
#ifndef MPK_TESTS_UNIT_LEAKS_H
#define MPK_TESTS_UNIT_LEAKS_H

/* What a program passes over besides, as "leak:FUNCTION\n" */
#ifndef MORE_LEAKS
#define MORE_LEAKS ""
#endif

/* PoCL and the compiler in it keep memory of every program they built. The name is that
 * which the leak checker asks for. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\n" MORE_LEAKS;
}

#endif
