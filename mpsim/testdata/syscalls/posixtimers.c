#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t hits, value;
static sem_t told;

static void on(int sig, siginfo_t *info, void *context)
{
	hits++;
	value = info->si_value.sival_int;
	if (info->si_code != SI_TIMER)
		hits += 1000;
}

static void notified(union sigval v)
{
	value = v.sival_int;
	sem_post(&told);
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
	sigaction(SIGRTMIN + 3, &a, 0);
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3, .sigev_value.sival_int = 42};
	timer_t t;
	printf("create %d\n", timer_create(CLOCK_MONOTONIC, &e, &t));
	struct itimerspec s = {{0, 2000000}, {0, 1000000}}, old;
	printf("set %d\n", timer_settime(t, 0, &s, 0));
	while (hits < 3)
		pause();
	printf("value %d, interval", value);
	printf(" %d", timer_gettime(t, &old));
	printf(" %ld\n", old.it_interval.tv_nsec);
	memset(&s, 0, sizeof s);
	printf("stop %d", timer_settime(t, 0, &s, &old));
	printf(" %ld\n", old.it_interval.tv_nsec);
	timer_gettime(t, &old);
	printf("left %ld\n", old.it_value.tv_nsec);
	printf("overrun %d\n", timer_getoverrun(t) >= 0);
	printf("delete %d %d %s\n", timer_delete(t), 0, "");
	sem_init(&told, 0, 0);
	struct sigevent f = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified, .sigev_value.sival_int = 7};
	printf("create %d\n", timer_create(CLOCK_REALTIME, &f, &t));
	s.it_value.tv_nsec = 1000000;
	printf("set %d\n", timer_settime(t, 0, &s, 0));
	sem_wait(&told);
	printf("thread got %d\n", value);
	clock_gettime(CLOCK_REALTIME, &s.it_value);
	s.it_value.tv_nsec += 1000000;
	if (s.it_value.tv_nsec >= 1000000000)
		s.it_value.tv_sec++, s.it_value.tv_nsec -= 1000000000;
	printf("absolute %d\n", timer_settime(t, TIMER_ABSTIME, &s, 0));
	sem_wait(&told);
	printf("delete %d\n", timer_delete(t));
	struct sigevent bad = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 200};
	printf("bad %d %s\n", timer_create(CLOCK_REALTIME, &bad, &t), strerror(errno));
	s.it_value.tv_nsec = 2000000000;
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	printf("none %d\n", timer_create(CLOCK_MONOTONIC, &none, &t));
	printf("bad time %d %s\n", timer_settime(t, 0, &s, 0), strerror(errno));
	s.it_value.tv_sec = 5, s.it_value.tv_nsec = 0;
	timer_settime(t, 0, &s, 0);
	timer_gettime(t, &old);
	printf("left of 5: %d\n", old.it_value.tv_sec >= 4 && old.it_value.tv_sec <= 5);
	return 0;
}
