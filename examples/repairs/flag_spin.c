/*
 * flag_spin: a plain flag publishes data to a thread that waits for it.
 *
 * repair 1: ready
 * order: data by ready
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
	wait_for(ready);
	printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
