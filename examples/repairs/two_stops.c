/*
 * two_stops: two threads may stop a third one; it cannot know which did.
 *
 * repair 1: stop
 * own: first
 */
#include "repair.h"

SHARED_1 int stop;
int first, second;

static void *a(void *arg)
{
	first = 1;
	sched_yield();
	stop = 1;
	return arg;
}

static void *b(void *arg)
{
	second = 1;
	sched_yield();
	stop = 1;
	return arg;
}

static void *reader(void *arg)
{
	wait_for(stop);
	printf("%d\n", first + second);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, reader, NULL);
	run_two(a, b);
	pthread_join(t, NULL);
}
