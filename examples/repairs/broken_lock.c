/*
 * broken_lock: a lock that tests and sets in two steps keeps nobody out.
 *
 * repair 1: locked
 * own: count
 */
#include "repair.h"

SHARED_1 int locked;
int count;

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		wait_for(!locked);
		locked = 1;
		count++;
		sched_yield();
		locked = 0;
	}
	return arg;
}

int main(void)
{
	run_two(work, work);
	printf("%d\n", count);
}
