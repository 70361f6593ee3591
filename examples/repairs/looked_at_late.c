/*
 * looked_at_late: the flag is looked at, but behind the use of the data, unless the
 * compiler moves that.
 *
 * repair 1: ready
 * may: order: data by ready
 */
#include "repair.h"

int data, copy;
SHARED_1 int ready;

static void *writer(void *arg)
{
	data = 42;
	sched_yield();
	ready = 1;
	return arg;
}

static void *reader(void *arg)
{
	int seen;

	for (int i = 0; i < 20; i++)
		sched_yield();
	seen = ready;
	copy = data;
	if (!seen)
		copy = 0;
	return arg;
}

int main(void)
{
	run_two(writer, reader);
	printf("%d\n", copy);
}
