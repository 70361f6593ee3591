/*
 * fig6: figure 6 of the parallel-trace paper (PPoPP 2003), an apparent race.
 *
 * A lock goes from thread 1 to thread 2 to thread 3 and back to thread 1, as
 * in figure 1. Thread 2 writes X while it holds the lock. Thread 1 reads X
 * between its first unlock and its second lock, while it holds nothing, so the
 * two accesses are unordered.
 *
 * Semaphores hand over the turn, only where the lock itself goes over: what
 * thread 1 does after it gave up its turn is as unordered as in the figure, in
 * every run.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sem_t turn[3];
int X, seen, shared;

static void take(int self)
{
	sem_wait(&turn[self]);
	pthread_mutex_lock(&lock);
}

static void give(int self)
{
	pthread_mutex_unlock(&lock);
	sem_post(&turn[(self + 1) % 3]);
}

static void *thread1(void *arg)
{
	take(0);
	shared++;
	give(0);
	seen = X; /* race: X */
	take(0);
	shared++;
	give(0);
	return arg;
}

static void *thread2(void *arg)
{
	take(1);
	shared++;
	X = 1; /* race: X */
	give(1);
	return arg;
}

static void *thread3(void *arg)
{
	take(2);
	shared++;
	give(2);
	return arg;
}

int main(void)
{
	void *(*body[3])(void *) = {thread1, thread2, thread3};
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		sem_init(&turn[i], 0, i == 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, body[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("visits %d\n", shared);
	return 0;
}
