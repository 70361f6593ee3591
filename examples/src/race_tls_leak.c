/*
 * race_tls_leak: the address of a thread-local variable goes to another
 * thread.
 *
 * The owner takes it for granted that nobody else sees its own errors counter
 * and goes on using it, while the monitor reads it through the pointer.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

__thread int errors;
int *watched;
sem_t published, finished;

static void *owner(void *arg)
{
	errors = 1;
	watched = &errors;
	sem_post(&published);
	errors++; /* race: tls errors */
	sem_wait(&finished);
	return arg;
}

static void *monitor(void *arg)
{
	sem_wait(&published);
	*(int *)arg = *watched; /* race: tls errors */
	sem_post(&finished);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int seen = 0;

	sem_init(&published, 0, 0);
	sem_init(&finished, 0, 0);
	pthread_create(&a, NULL, owner, NULL);
	pthread_create(&b, NULL, monitor, &seen);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("seen 1 or 2: %s\n", seen == 1 || seen == 2 ? "yes" : "no");
	return 0;
}
