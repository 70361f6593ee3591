/*
 * not_looked_at: the flag is read before the data and not looked at.
 *
 * repair 1: ready
 * own: data
 */
#include "repair.h"

int data, copy, seen;
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
	for (int i = 0; i < 20; i++)
		sched_yield();
	seen = ready;
	sched_yield();
	copy = data;
	return arg;
}

int main(void)
{
	run_two(writer, reader);
	printf("%d %d\n", seen, copy);
}
