/*
 * progress: a count of items done publishes the items before it.
 *
 * repair 1: done
 * order: items by done
 */
#include "repair.h"

int items[10];
SHARED_1 volatile int done;

static void *worker(void *arg)
{
	for (int i = 0; i < 10; i++) {
		items[i] = i + 1;
		__asm__ volatile("" ::: "memory");
		done = i + 1;
		sched_yield();
	}
	return arg;
}

static void *watcher(void *arg)
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		wait_for(done > i);
		sum += items[i];
	}
	printf("%d\n", sum);
	return arg;
}

int main(void) { run_two(worker, watcher); }
