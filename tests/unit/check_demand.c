/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ground/io/demand: bytes that are made when they are read, in any order, with bounds on memory and on work */
#include "robust.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "io/mapping.h"

enum {
	CHUNK = 1 << 19,
	BYTES = 80 * CHUNK + 4321, /* more than may be there at a time */
	MOST_BYTES = (32 << 20) + 2 * CHUNK,
};

static struct mpk_arena arena;
static struct mpk_demand *demand;
static const uint8_t *bytes;
static volatile uint64_t made; /* bytes, again and again included; by a signal handler */

static void clear(void)
{
	mpk_demand_close(demand);
	demand = NULL;
	made = 0;
	mpk_arena_fini(&arena);
}

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)(i * 31 + (i >> 13) + 1);
}

/* What a source may be asked for: from the beginning of a chunk, or on. */
static uint64_t ended;

static bool make(void *arg, uint64_t from, uint8_t *into, size_t len)
{
	(void)arg;
	if ((from != ended && from % CHUNK) || from + len > BYTES || !len)
		return false;
	for (size_t i = 0; i < len; i++)
		into[i] = byte_at(from + i);
	ended = from + len;
	made += len;
	return true;
}

static void failed(void *arg)
{
	(void)arg;
	_exit(42);
}

static const struct mpk_demand_source source = { make, failed, NULL };

static void offer_all(void)
{
	static uint8_t piece[100000];

	for (uint64_t off = 0; off < BYTES; off += sizeof piece) {
		size_t len = BYTES - off < sizeof piece ? (size_t)(BYTES - off) : sizeof piece;

		for (size_t i = 0; i < len; i++)
			piece[i] = byte_at(off + i);
		mpk_demand_offer(demand, off, mpk_span_of(piece, len));
	}
}

static void start(void)
{
	struct mpk_span view;

	ended = UINT64_MAX;
	demand = mpk_demand_open(BYTES, CHUNK, &arena);
	ck_assert_ptr_nonnull(demand);
	offer_all();
	view = mpk_demand_start(demand, &source);
	ck_assert_uint_eq(view.len, BYTES);
	bytes = view.data;
}

/* Bytes of pages that hold memory. */
static size_t resident(void)
{
	static unsigned char pages[BYTES / 4096 + 1];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (BYTES + page - 1) / page, n = 0;

	ck_assert_int_eq(mincore((void *)(uintptr_t)bytes, BYTES, pages), 0);
	for (size_t i = 0; i < count; i++)
		n += pages[i] & 1;
	return n * page;
}

static void look(uint64_t at)
{
	ck_assert_msg(bytes[at] == byte_at(at), "byte %llu", (unsigned long long)at);
}

START_TEST(forwards)
{
	start();
	ck_assert_uint_le(resident(), MOST_BYTES);
	for (uint64_t i = 0; i < BYTES; i++)
		if (bytes[i] != byte_at(i))
			look(i);
	ck_assert_uint_le(resident(), MOST_BYTES);
	ck_assert_uint_le(made, BYTES);
}
END_TEST

START_TEST(backwards)
{
	start();
	for (int pass = 0; pass < 6; pass++)
		for (uint64_t i = BYTES; i-- > 0;)
			if (bytes[i] != byte_at(i))
				look(i);
	ck_assert_uint_le(made, UINT64_C(4) * BYTES);
}
END_TEST

/* Steps of a little more than a chunk: each read is of another chunk. */
START_TEST(back_and_forth)
{
	uint64_t at = 0;

	start();
	for (int i = 0; i < 200000; i++) {
		look(at);
		at = (at + (_i ? BYTES / 2 + 4099 : CHUNK + 7)) % BYTES;
	}
	ck_assert_uint_le(made, UINT64_C(5) * BYTES);
}
END_TEST

/* Little is made for one byte here and there. */
START_TEST(here_and_there)
{
	start();
	for (uint64_t k = 1; k < 12; k++)
		look(k * CHUNK + 100);
	ck_assert_uint_eq(made, 11 * MPK_DEMAND_GRAIN);
	look(11 * CHUNK + MPK_DEMAND_GRAIN);
	ck_assert_uint_eq(made, 12 * MPK_DEMAND_GRAIN);
	look(1 * CHUNK + MPK_DEMAND_GRAIN); /* after others: all of it */
	look(1 * CHUNK + CHUNK - 1);
	ck_assert_uint_eq(made, 12 * MPK_DEMAND_GRAIN + CHUNK);
	look(0);
	look(BYTES - 1);
	ck_assert_uint_eq(made, 12 * MPK_DEMAND_GRAIN + CHUNK);
}
END_TEST

/* What was kept costs nothing, also where it lies across pages. */
START_TEST(keeps_parts)
{
	static uint8_t piece[100000];
	const uint64_t off = 3 * CHUNK + 1000, in = off + 50000;

	for (size_t i = 0; i < sizeof piece; i++)
		piece[i] = byte_at(off + i);
	demand = mpk_demand_open(BYTES, CHUNK, &arena);
	ck_assert_ptr_nonnull(demand);
	for (int i = 0; i < 3; i++)
		mpk_demand_keep(demand, off, mpk_span_of(piece, sizeof piece), in, 5000);
	mpk_demand_keep(demand, off, mpk_span_of(piece, sizeof piece), off + sizeof piece - 1, 64);
	offer_all();
	bytes = mpk_demand_start(demand, &source).data;
	ck_assert_ptr_nonnull(bytes);
	for (uint64_t i = in; i < in + 5000; i++)
		look(i);
	ck_assert_uint_eq(made, 0);
	look(off + sizeof piece - 1);
	ck_assert_uint_gt(made, 0);
	for (uint64_t i = in; i < in + 5000; i++)
		look(i);
}
END_TEST

/* Two at a time, closed in either order; then the handler is what it was. */
START_TEST(two)
{
	struct sigaction old, now;
	struct mpk_demand *first, *second;
	const uint8_t *a, *b;

	ck_assert_int_eq(sigaction(SIGSEGV, NULL, &old), 0);
	start();
	first = demand;
	a = bytes;
	start();
	second = demand;
	b = bytes;
	demand = NULL;
	ck_assert_uint_eq(a[5 * CHUNK], byte_at(5 * CHUNK));
	ck_assert_uint_eq(b[6 * CHUNK], byte_at(6 * CHUNK));
	mpk_demand_close(_i ? first : second);
	ck_assert_uint_eq((_i ? b : a)[7 * CHUNK], byte_at(7 * CHUNK));
	mpk_demand_close(_i ? second : first);
	ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
	ck_assert(now.sa_handler == old.sa_handler);
}
END_TEST

/* --- faults that are none of ours -------------------------------------------------------- */

static sigjmp_buf back;
static volatile sig_atomic_t told;

static void on_other(int sig)
{
	(void)sig;
	told++;
	siglongjmp(back, 1);
}

START_TEST(other_faults)
{
	struct robust_page guard = robust_page_of(1);
	struct sigaction other = { .sa_handler = on_other };
	volatile uint8_t *volatile where;

	ck_assert_int_eq(sigaction(SIGSEGV, &other, NULL), 0);
	start();
	look(9 * CHUNK);
	where = guard.map + guard.room;
	if (sigsetjmp(back, 1) == 0)
		ck_abort_msg("read %d", *where);
	where = (uint8_t *)(uintptr_t)bytes + 9 * CHUNK;
	if (sigsetjmp(back, 1) == 0) { /* nobody may write to them */
		*where = 1;
		ck_abort_msg("wrote");
	}
	if (sigsetjmp(back, 1) == 0)
		ck_assert_int_eq(raise(SIGSEGV), 0);
	ck_assert_int_eq(told, 3);
	look(10 * CHUNK);
}
END_TEST

/* Runs in a child, so that no handler of Check is in the way. */
static int status_of(void (*run)(void))
{
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct rlimit none = { 0, 0 };

		(void)signal(SIGSEGV, SIG_DFL);
		(void)setrlimit(RLIMIT_CORE, &none);
		run();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

static void read_elsewhere(void)
{
	struct robust_page guard = robust_page_of(1);

	start();
	look(9 * CHUNK);
	(void)!write(STDOUT_FILENO, "", *(volatile uint8_t *)(guard.map + guard.room) & 0);
}

static void send(void)
{
	start();
	(void)raise(SIGSEGV);
}

START_TEST(dies_of_others)
{
	int status = status_of(_i ? send : read_elsewhere);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
}
END_TEST

static bool refuse(void *arg, uint64_t from, uint8_t *into, size_t len)
{
	(void)arg;
	(void)from;
	(void)into;
	(void)len;
	return false;
}

static void read_broken(void)
{
	static const struct mpk_demand_source broken = { refuse, failed, NULL };
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	(void)sigprocmask(SIG_BLOCK, &faults, NULL); /* as whoever started us may have left it */
	demand = mpk_demand_open(BYTES, CHUNK, &arena);
	bytes = mpk_demand_start(demand, &broken).data;
	look(9 * CHUNK);
}

START_TEST(says_that_it_failed)
{
	int status = status_of(read_broken);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 42);
}
END_TEST

/* A child reads what it had made before, and takes nothing from its parent. */
static void in_child(void)
{
	look(11 * CHUNK);
}

START_TEST(not_for_children)
{
	int status;

	start();
	look(11 * CHUNK);
	status = status_of(in_child);
	ck_assert(WIFSIGNALED(status));
	look(11 * CHUNK);
}
END_TEST

/* The law of memory: all of it counts, though little of it is there. */
START_TEST(counts_as_data)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_DATA, &limit), 0);
	limit.rlim_cur = BYTES / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	ck_assert_ptr_null(mpk_demand_open(BYTES, CHUNK, &arena));
	limit.rlim_cur = 2 * (rlim_t)BYTES;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	start();
	limit.rlim_cur = 0; /* what is refused now would be refused to a handler */
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	for (uint64_t i = 0; i < BYTES; i += 1000)
		look(i);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("demand");
	TCase *tc = tcase_create("demand");
	SRunner *runner;
	int failures;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_test(tc, forwards);
	tcase_add_test(tc, backwards);
	tcase_add_loop_test(tc, back_and_forth, 0, 2);
	tcase_add_test(tc, here_and_there);
	tcase_add_test(tc, keeps_parts);
	tcase_add_loop_test(tc, two, 0, 2);
	tcase_add_test(tc, other_faults);
	if (!MPK_IS_SANITIZED) { /* its runtime has a handler, and data without limits */
		tcase_add_loop_test(tc, dies_of_others, 0, 2);
		tcase_add_test(tc, not_for_children);
		tcase_add_test(tc, counts_as_data);
	}
	tcase_add_test(tc, says_that_it_failed);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures != 0;
}
