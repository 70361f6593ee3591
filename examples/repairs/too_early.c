/*
 * too_early: the flag is set before the data.
 *
 * repair 1: ready
 * own: data
 */
#include "repair.h"

int data;
SHARED_1 int ready;

static void *writer(void *arg)
{
	ready = 1;
	sched_yield();
	data = 42;
	return arg;
}

static void *reader(void *arg)
{
	wait_for(ready);
	printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
