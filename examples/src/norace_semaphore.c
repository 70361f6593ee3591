/*
 * norace_semaphore: a semaphore that serves as a mutex starts at 1.
 *
 * The threads meet before they enter; inside there is one at a time.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

sem_t mutex;
pthread_barrier_t outside;
int counter;

static void *work(void *arg)
{
	pthread_barrier_wait(&outside);
	sem_wait(&mutex);
	counter++;
	sem_post(&mutex);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	sem_init(&mutex, 0, 1);
	pthread_barrier_init(&outside, NULL, 2);
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("counter %d, want 2\n", counter);
	return 0;
}
