/*
 * flag_if: a plain flag publishes data to a thread that looks once.
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
	if (ready)
		printf("%d\n", data);
	return arg;
}

int main(void) { run_two(writer, reader); }
