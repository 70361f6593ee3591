/* Code of the program that runs in the middle of library calls. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rounds = 20 };

static sem_t never, ready, handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sigjmp_buf back;
static volatile int nested, total, stop;
static char alternate[1 << 15];

static int deep(int n) { return n ? deep(n - 1) + (n & 1) : total; }

static void inner(int sig)
{
	char text[40];

	snprintf(text, sizeof text, "signal %d", sig);
	nested += strlen(text) == 9;
}

static void outer(int sig)
{
	pthread_mutex_lock(&other);
	total += deep(5) - deep(5) + sig - sig + 1;
	raise(SIGUSR2);
	pthread_mutex_unlock(&other);
	sem_post(&handled);
}

static void jump(int sig)
{
	total += sig == SIGALRM;
	siglongjmp(back, 1);
}

/* hit sends signals to a thread that waits somewhere. */
static void hit(pthread_t t)
{
	for (int i = 0; i < rounds; i++) {
		pthread_kill(t, SIGUSR1);
		while (sem_wait(&handled))
			;
	}
}

static void *in_cond(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!stop)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *in_barrier(void *arg)
{
	stack_t s = { .ss_sp = alternate, .ss_size = sizeof alternate };

	sigaltstack(&s, NULL);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void *in_malloc(void *arg)
{
	while (!stop) {
		void *p = calloc(10, 10);
		p = realloc(p, 1000);
		free(p);
	}
	return arg;
}

static void *in_semaphore(void *arg)
{
	int n;

	for (n = 0; n < 3; n++)
		if (sigsetjmp(back, 1) == 0) {
			sem_post(&ready);
			deep(3);
			sem_wait(&never);
		}
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_handler = outer, .sa_flags = SA_ONSTACK };
	pthread_t t;

	sem_init(&never, 0, 0);
	sem_init(&ready, 0, 0);
	sem_init(&handled, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = inner;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_handler = jump;
	sigaction(SIGALRM, &a, NULL);

	pthread_create(&t, NULL, in_cond, NULL);
	hit(t);
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);

	pthread_create(&t, NULL, in_barrier, NULL);
	hit(t);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);

	stop = 0;
	pthread_create(&t, NULL, in_malloc, NULL);
	hit(t);
	stop = 1;
	pthread_join(t, NULL);

	pthread_create(&t, NULL, in_semaphore, NULL);
	for (int i = 0; i < 3; i++) {
		sem_wait(&ready);
		usleep(1000);
		pthread_kill(t, SIGALRM);
	}
	pthread_join(t, NULL);
	printf("%d %d\n", total, nested);
	return total == 3 * rounds + 3 && nested == 3 * rounds ? 0 : 1;
}
