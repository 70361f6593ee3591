/*
 * enabled_count: both threads count if a racy flag says so.
 *
 * repair 1: enabled
 * own: count
 */
#include "repair.h"

SHARED_1 int enabled;
int count;

static void *f(void *arg)
{
	enabled = 1;
	for (int i = 0; i < 3; i++) {
		count++;
		sched_yield();
	}
	return arg;
}

static void *g(void *arg)
{
	wait_for(enabled);
	for (int i = 0; i < 3; i++) {
		count++;
		sched_yield();
	}
	return arg;
}

int main(void) { run_two(f, g); }
