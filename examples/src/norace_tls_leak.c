/*
 * norace_tls_leak: the owner copies its thread-local variable to a global one
 * for the other thread, and goes on with its own.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

__thread int errors;
int reported;
sem_t published;

static void *owner(void *arg)
{
	errors = 1;
	reported = errors;
	sem_post(&published);
	errors++;
	return arg;
}

static void *monitor(void *arg)
{
	sem_wait(&published);
	*(int *)arg = reported;
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int seen = 0;

	sem_init(&published, 0, 0);
	pthread_create(&a, NULL, owner, NULL);
	pthread_create(&b, NULL, monitor, &seen);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("seen 1 or 2: %s\n", seen == 1 || seen == 2 ? "yes" : "no");
	return 0;
}
