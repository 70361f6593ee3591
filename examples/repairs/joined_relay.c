/*
 * joined_relay: the flag is seen by a thread that creates the reader.
 *
 * repair 1: ready
 * order: data by ready
 */
#include "repair.h"

int data;
SHARED_1 int ready;

static void *reader(void *arg)
{
	printf("%d\n", data);
	return arg;
}

static void *writer(void *arg)
{
	data = 42;
	ready = 1;
	return arg;
}

static void *relay(void *arg)
{
	pthread_t t;

	wait_for(ready);
	pthread_create(&t, NULL, reader, NULL);
	pthread_join(t, NULL);
	return arg;
}

int main(void) { run_two(writer, relay); }
