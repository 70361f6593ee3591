/*
 * race_trylock: the result of pthread_mutex_trylock is ignored.
 *
 * The housekeeper goes on although it did not get the lock. Barriers make sure
 * that the worker holds the lock when it is tried.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t held, tried;
int entries;

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	entries++; /* race: entries */
	pthread_barrier_wait(&tried);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *housekeeper(void *arg)
{
	pthread_barrier_wait(&held);
	pthread_mutex_trylock(&lock);
	entries--; /* race: entries */
	pthread_barrier_wait(&tried);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_barrier_init(&held, NULL, 2);
	pthread_barrier_init(&tried, NULL, 2);
	pthread_create(&a, NULL, worker, NULL);
	pthread_create(&b, NULL, housekeeper, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("entries %d, want 0\n", entries);
	return 0;
}
