/*
 * shadowed: a flag that both threads set leads nowhere; the counts race by themselves.
 *
 * repair 1: busy
 * own: hits
 */
#include "repair.h"

SHARED_1 int busy;
int hits;

static void *work(void *arg)
{
	for (int i = 0; i < 5; i++) {
		busy = 1;
		hits++;
		if (busy)
			sched_yield();
		busy = 0;
	}
	return arg;
}

int main(void)
{
	run_two(work, work);
	printf("%d\n", hits);
}
