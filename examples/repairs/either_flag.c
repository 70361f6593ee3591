/*
 * either_flag: two flags, each of which alone publishes the data.
 *
 * repair 1: first
 * repair 2: second
 * order: data by first, second
 */
#include "repair.h"

int data;
SHARED_1 volatile int first;
SHARED_2 volatile int second;

static void *writer(void *arg)
{
	data = 42;
	sched_yield();
	first = 1;
	sched_yield();
	second = 1;
	return arg;
}

static void *reader(void *arg)
{
	wait_for(first);
	wait_for(second);
	printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
