/*
 * race_semaphore: a semaphore serves as a mutex but starts at 2.
 *
 * It lets two threads in at once. That both are inside when they change the
 * counter is made certain by a barrier, which a working mutex would not let
 * them reach together.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

sem_t mutex;
pthread_barrier_t inside;
int counter;

static void *work(void *arg)
{
	sem_wait(&mutex);
	pthread_barrier_wait(&inside);
	counter++; /* race: counter */
	sem_post(&mutex);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	sem_init(&mutex, 0, 2);
	pthread_barrier_init(&inside, NULL, 2);
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("counter %d, want 2\n", counter);
	return 0;
}
