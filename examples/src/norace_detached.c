/*
 * norace_detached: a detached thread says when it is finished.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

sem_t finished;
int status;

static void *probe(void *arg)
{
	status = 200;
	sem_post(&finished);
	return arg;
}

int main(void)
{
	pthread_t thread;

	sem_init(&finished, 0, 0);
	pthread_create(&thread, NULL, probe, NULL);
	pthread_detach(thread);
	sem_wait(&finished);
	int seen = status;
	printf("status 0 or 200: %s\n", seen == 0 || seen == 200 ? "yes" : "no");
	return 0;
}
