/* SPDX-License-Identifier: Apache-2.0 */
#include "common/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/compiler.h"
#include "io/copy.h"
#include "process/process.h"

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
	mpk_copy_stop();
	mpk_process_stop();
}

void mpk_interrupt_catch(void)
{
	mpk_interrupt_handle(on_signal);
}

void mpk_interrupt_handle(void (*handler)(int sig))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signals); i++) {
		struct sigaction old, mine = { .sa_handler = handler, .sa_flags = SA_RESTART };

		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &mine, NULL);
	}
}

void mpk_interrupt_raise(void)
{
	if (!caught)
		return;
	(void)signal(caught, SIG_DFL);
	(void)raise(caught);
}
