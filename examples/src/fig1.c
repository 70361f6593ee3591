/*
 * fig1: figure 1 of the parallel-trace paper (PPoPP 2003). One lock goes from
 * thread 1 to thread 2 to thread 3 and back to thread 1, so that S_synch is
 * (lock,1) (unlock,1) (lock,2) (unlock,2) (lock,3) (unlock,3) (lock,1) ...
 *
 * Semaphores hand over the turn, which makes that order the same in every run.
 * They order nothing that the lock does not order: there is no race.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sem_t turn[3];
int shared;

static void visit(int self)
{
	sem_wait(&turn[self]);
	pthread_mutex_lock(&lock);
	shared = 10 * shared + self + 1;
	pthread_mutex_unlock(&lock);
	sem_post(&turn[(self + 1) % 3]);
}

static void *thread1(void *arg)
{
	visit(0);
	visit(0);
	return arg;
}

static void *thread2(void *arg)
{
	visit(1);
	return arg;
}

static void *thread3(void *arg)
{
	visit(2);
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
	printf("order: %d\n", shared);
	return 0;
}
