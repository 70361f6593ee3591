/*
 * version: a reader checks a version before and behind, but reads while it may be written.
 *
 * repair 1: version
 * own: value
 */
#include "repair.h"

SHARED_1 volatile unsigned version;
volatile int value;

static void *writer(void *arg)
{
	for (int i = 1; i < 10; i++) {
		version = 2 * i - 1;
		value = i;
		version = 2 * i;
		sched_yield();
	}
	return arg;
}

static void *reader(void *arg)
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		unsigned before = version;
		int v = value;
		if (before % 2 == 0 && before == version)
			sum += v;
		sched_yield();
	}
	printf("%d\n", sum > 0);
	return arg;
}

int main(void) { run_two(writer, reader); }
