/*
 * reused: the data is written again behind the flag.
 *
 * repair 1: ready
 * may: order: data by ready
 */
#include "repair.h"

int data;
SHARED_1 int ready;

static void *writer(void *arg)
{
	data = 1;
	ready = 1;
	sched_yield();
	data = 2;
	return arg;
}

static void *reader(void *arg)
{
	wait_for(ready);
	printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
