/* Signals, code of the program in the middle of library calls, and calls that fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static int bad; /* set before threads start */

#define BODY(name) static void *name(void *arg)

/* start runs f in a thread, as soon as it has begun. */
static sem_t begun;
static pthread_t start(void *(*f)(void *))
{
	pthread_t t;

	sem_init(&begun, 0, 0);
	pthread_create(&t, NULL, f, NULL);
	return t;
}

static void nap(void) { usleep(3000); }

static void handle(int sig, void (*f)(int))
{
	struct sigaction a = { .sa_handler = f };

	sigaction(sig, &a, NULL);
}

static void block(int sig)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, sig);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
}

/* A handler that runs while its thread is in a call that waits. */
static volatile int in_join_x;
static sem_t in_join_done;
static void in_join_handler(int sig) { in_join_x = sig; sem_post(&in_join_done); }
static pthread_t in_join_main;
BODY(in_join_body)
{
	nap();
	pthread_kill(in_join_main, SIGUSR1);
	if (!bad)
		sem_wait(&in_join_done);
	in_join_x = 2;
	return arg;
}
PAIR(in_join, "a handler runs during pthread_join and posts")
{
	bad = broken;
	sem_init(&in_join_done, 0, 0);
	in_join_main = pthread_self();
	handle(SIGUSR1, in_join_handler);
	pthread_join(start(in_join_body), NULL);
	printf("joined\n");
}

static volatile int in_cond_x, in_cond_go;
static pthread_mutex_t in_cond_lock = PTHREAD_MUTEX_INITIALIZER, in_cond_own = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t in_cond = PTHREAD_COND_INITIALIZER;
static void in_cond_handler(int sig)
{
	pthread_mutex_lock(&in_cond_own);
	in_cond_x = sig;
	pthread_mutex_unlock(&in_cond_own);
}
BODY(in_cond_body)
{
	pthread_mutex_lock(&in_cond_lock);
	while (!in_cond_go)
		pthread_cond_wait(&in_cond, &in_cond_lock);
	pthread_mutex_unlock(&in_cond_lock);
	return arg;
}
PAIR(in_cond, "a handler runs during pthread_cond_wait and locks")
{
	pthread_t t;

	handle(SIGUSR1, in_cond_handler);
	t = start(in_cond_body);
	nap();
	pthread_kill(t, SIGUSR1);
	nap();
	if (!broken)
		pthread_mutex_lock(&in_cond_own);
	in_cond_x = 1;
	if (!broken)
		pthread_mutex_unlock(&in_cond_own);
	pthread_mutex_lock(&in_cond_lock);
	in_cond_go = 1;
	pthread_cond_signal(&in_cond);
	pthread_mutex_unlock(&in_cond_lock);
	pthread_join(t, NULL);
	printf("woken\n");
}

static int jump_x;
static sem_t jump_never, jump_done;
static sigjmp_buf jump_buffer;
static void jump_handler(int sig) { (void)sig; siglongjmp(jump_buffer, 1); }
BODY(jump_body)
{
	if (sigsetjmp(jump_buffer, 1) == 0)
		sem_wait(&jump_never);
	jump_x = 1;
	if (!bad)
		sem_post(&jump_done);
	return arg;
}
PAIR(jump, "a handler leaves sem_wait by siglongjmp")
{
	pthread_t t;

	bad = broken;
	sem_init(&jump_never, 0, 0);
	sem_init(&jump_done, 0, 0);
	handle(SIGUSR1, jump_handler);
	t = start(jump_body);
	nap();
	pthread_kill(t, SIGUSR1);
	if (broken)
		nap();
	else
		sem_wait(&jump_done);
	jump_x = 2;
	pthread_join(t, NULL);
	printf("%d\n", jump_x);
}

/* What sending a signal orders. */
static int kill_x;
static sem_t kill_seen;
static void kill_handler(int sig) { kill_x += sig; sem_post(&kill_seen); }
BODY(kill_body) { sem_post(&begun); sem_wait(&kill_seen); return arg; }
PAIR(kill, "pthread_kill, then the handler")
{
	pthread_t t;

	sem_init(&kill_seen, 0, 0);
	handle(SIGUSR1, kill_handler);
	t = start(kill_body);
	sem_wait(&begun);
	if (!broken)
		kill_x = 1;
	pthread_kill(t, SIGUSR1);
	if (broken)
		kill_x = 1;
	pthread_join(t, NULL);
	printf("%d\n", broken ? 0 : kill_x);
}

static int sigwait_x;
BODY(sigwait_body)
{
	sigset_t s;
	int sig;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigwait(&s, &sig);
	sigwait_x++;
	return arg;
}
PAIR(sigwait, "pthread_kill, then sigwait")
{
	pthread_t t;

	block(SIGUSR2);
	t = start(sigwait_body);
	if (!broken)
		sigwait_x = 1;
	pthread_kill(t, SIGUSR2);
	if (broken)
		sigwait_x = 1;
	pthread_join(t, NULL);
	printf("waited\n");
}

static int queue_x[2];
BODY(queue_body)
{
	sigset_t s;
	siginfo_t info;

	sigemptyset(&s);
	sigaddset(&s, SIGRTMIN);
	sigwaitinfo(&s, &info);
	++*(int *)info.si_value.sival_ptr;
	return arg;
}
PAIR(queue, "sigqueue with a pointer, then sigwaitinfo")
{
	union sigval v = { .sival_ptr = queue_x };
	pthread_t t;

	block(SIGRTMIN);
	t = start(queue_body);
	if (!broken)
		queue_x[0] = 1;
	sigqueue(getpid(), SIGRTMIN, v);
	if (broken)
		queue_x[0] = 1;
	pthread_join(t, NULL);
	printf("queued\n");
}

static int timer_x;
static sem_t timer_rang;
static void timer_handler(int sig) { timer_x += sig; sem_post(&timer_rang); }
BODY(timer_body) { sem_wait(&timer_rang); return arg; }
PAIR(timer, "setitimer, then the handler in another thread")
{
	struct itimerval in = { .it_value = { .tv_usec = 2000 } };
	pthread_t t;

	sem_init(&timer_rang, 0, 0);
	handle(SIGALRM, timer_handler);
	t = start(timer_body);
	block(SIGALRM);
	if (!broken)
		timer_x = 1;
	setitimer(ITIMER_REAL, &in, NULL);
	if (broken)
		timer_x = 1;
	pthread_join(t, NULL);
	printf("rang\n");
}

/* Calls that fail order nothing. */
static void checked(pthread_mutex_t *m, int type, int robust)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutex_init(m, &a);
}

static pthread_mutex_t eperm_lock;
static int eperm_x;
BODY(eperm_body)
{
	if (!bad)
		pthread_mutex_lock(&eperm_lock);
	eperm_x++;
	pthread_mutex_unlock(&eperm_lock); /* EPERM in the broken twin */
	return arg;
}
PAIR(eperm, "unlocking a mutex that the thread does not hold")
{
	pthread_t t;

	bad = broken;
	checked(&eperm_lock, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	t = start(eperm_body);
	nap();
	pthread_mutex_lock(&eperm_lock);
	eperm_x++;
	pthread_mutex_unlock(&eperm_lock);
	pthread_join(t, NULL);
	printf("%d\n", eperm_x);
}

static sem_t overflow_full;
static int overflow_x;
BODY(overflow_body)
{
	overflow_x = 1;
	sem_post(&overflow_full); /* EOVERFLOW in the broken twin */
	return arg;
}
PAIR(overflow, "sem_post that overflows")
{
	pthread_t t;

	sem_init(&overflow_full, 0, broken ? SEM_VALUE_MAX : 0);
	t = start(overflow_body);
	nap();
	sem_wait(&overflow_full);
	overflow_x = 2;
	pthread_join(t, NULL);
	printf("%d\n", overflow_x);
}

static pthread_mutex_t robust_lock;
static int robust_x;
BODY(robust_body)
{
	pthread_mutex_lock(&robust_lock);
	robust_x = 1;
	if (bad) {
		pthread_mutex_unlock(&robust_lock);
		robust_x = 1;
	}
	return arg; /* the correct twin dies with the lock */
}
PAIR(robust, "a robust mutex whose owner died")
{
	pthread_t t;
	int got;

	bad = broken;
	checked(&robust_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	t = start(robust_body);
	nap();
	got = pthread_mutex_lock(&robust_lock);
	robust_x = 2;
	if (got == EOWNERDEAD)
		pthread_mutex_consistent(&robust_lock);
	pthread_mutex_unlock(&robust_lock);
	pthread_join(t, NULL);
	printf("%d\n", robust_x > 0); /* who comes first is up to the clock */
}

static volatile int main_x;
static pthread_t main_thread;
BODY(main_body)
{
	if (bad)
		nap();
	else
		pthread_join(main_thread, NULL);
	main_x = 2;
	printf("%d\n", main_x);
	exit(0);
	return arg;
}
PAIR(main, "joining the main thread")
{
	pthread_t t;

	bad = broken;
	main_thread = pthread_self();
	pthread_create(&t, NULL, main_body, NULL);
	main_x = 1;
	pthread_exit(NULL);
}
