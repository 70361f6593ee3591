/*
 * in_function: the flag is waited for in a function of its own.
 *
 * repair 1: ready
 * order: data by ready
 */
#include "repair.h"

int data[4];
SHARED_1 int ready;

static __attribute__((noinline)) void await(SHARED_1 int *flag)
{
	while (!*flag)
		sched_yield();
}

static __attribute__((noinline)) void announce(SHARED_1 int *flag) { *flag = 1; }

static void *writer(void *arg)
{
	for (int i = 0; i < 4; i++)
		data[i] = i;
	announce(&ready);
	return arg;
}

static void *reader(void *arg)
{
	await(&ready);
	printf("%d\n", data[0] + data[1] + data[2] + data[3]);
	return arg;
}

int main(void) { run_two(writer, reader); }
