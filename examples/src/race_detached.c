/*
 * race_detached: main sleeps and then takes a detached thread for finished.
 *
 * Sleeping orders nothing, however long it is.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

int status;

static void *probe(void *arg)
{
	status = 200; /* race: status */
	return arg;
}

int main(void)
{
	struct timespec pause = {0, 200000000};
	pthread_t thread;

	pthread_create(&thread, NULL, probe, NULL);
	pthread_detach(thread);
	nanosleep(&pause, NULL);
	int seen = status; /* race: status */
	printf("status 0 or 200: %s\n", seen == 0 || seen == 200 ? "yes" : "no");
	return 0;
}
