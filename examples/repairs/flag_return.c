/*
 * flag_return: the same, with an early return.
 *
 * repair 1: ready
 * may: order: data by ready
 */
#include "repair.h"

int data;
SHARED_1 int ready;

static void *writer(void *arg)
{
	data = 42;
	ready = 1;
	return arg;
}

static void *reader(void *arg)
{
	for (int i = 0; i < 50; i++)
		sched_yield();
	if (!ready)
		return NULL;
	printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
