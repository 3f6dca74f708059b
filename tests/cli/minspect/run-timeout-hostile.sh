# --timeout holds whatever called code does to signals, descriptors, processes and its reply; in isolation, too.
cat >stays.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
struct any { int type, pad; long value; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static void forever(void) { for (;;) usleep(1000); }
static void block_all(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, 0);
	for (int sig = 1; sig < 65; sig++) signal(sig, SIG_IGN);
}
FN(stops_itself) { raise(SIGSTOP); forever(); return 0; }
FN(ignores_signals) { block_all(); forever(); return 0; }
FN(closes_all) { for (int fd = 0; fd < 1024; fd++) close(fd); forever(); return 0; }
static void spin(int sig) { for (;;) { } }
FN(spins_in_handler) { signal(SIGSEGV, spin); raise(SIGSEGV); return 0; }
FN(faults_forever) { signal(SIGSEGV, SIG_IGN); struct sigaction a = { .sa_handler = SIG_IGN }; signal(SIGSEGV, spin); *(volatile int *)8 = 1; return 0; }
FN(leaves_group) { block_all(); setsid(); setpgid(0, 0); prctl(PR_SET_PDEATHSIG, 0); forever(); return 0; }
FN(new_family)
{
	block_all();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, 0);
	if (fork() == 0) { prctl(PR_SET_PDEATHSIG, 0); setsid(); if (fork() == 0) { FILE *f = fopen("pid", "w"); fprintf(f, "%d\n", (int)getpid()); fclose(f); forever(); } forever(); }
	forever();
	return 0;
}
static void *idle(void *x) { forever(); return 0; }
FN(main_thread_ends) { pthread_t t; pthread_create(&t, 0, idle, 0); pthread_exit(0); return 0; }
FN(slow_reply)
{
	for (int i = 0;; i++, usleep(100000))
		for (int fd = 3; fd < 64; fd++) {
			int type = 0;
			socklen_t len = sizeof type;
			if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0) (void)!pwrite(fd, "x", 1, i);
		}
	return 0;
}
FN(floods_result)
{
	static char bytes[1 << 20];
	for (long i = 0; i < 1024; i++)
		for (int fd = 3; fd < 64; fd++) {
			char link[64], name[256] = "";
			snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
			if (readlink(link, name, sizeof name - 1) > 0 && strstr(name, "minspect-reply"))
				(void)!pwrite(fd, bytes, sizeof bytes, i << 20);
		}
	forever();
	return 0;
}
FN(refuses_to_unload) { return 0; }
#ifdef LATE
__attribute__((destructor)) static void stay(void) { block_all(); forever(); }
#endif
#ifdef EARLY
__attribute__((constructor)) static void stay(void) { block_all(); forever(); }
#endif
END
cc -w -shared -fPIC -o stays.so stays.c -pthread
cc -w -DEARLY -shared -fPIC -o early.so stays.c -pthread
cc -w -DLATE -shared -fPIC -o late.so stays.c -pthread
status() { status=0; "$@" || status=$?; echo "status $status"; }
for name in stops_itself ignores_signals closes_all spins_in_handler faults_forever leaves_group main_thread_ends \
	slow_reply floods_result; do
	status minspect --run $name --timeout 0.5 stays.so
done
status minspect --run new_family --timeout 4 stays.so
test -s pid
sh "$ROOT/tests/cli/left" "$HOME" minspect && echo "its family is gone"
status minspect --run refuses_to_unload --timeout 0.5 early.so
status minspect --run refuses_to_unload --timeout 4 late.so
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' || exit 0
for name in stops_itself ignores_signals closes_all spins_in_handler leaves_group main_thread_ends; do
	minspect --run $name --isolate --timeout 0.5 stays.so 2>/dev/null && echo "$name: returned"
done
exit 0
