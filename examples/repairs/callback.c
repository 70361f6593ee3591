/*
 * callback: a racy function pointer chooses what runs, and that counts.
 *
 * repair 1: handler
 * own: count
 */
#include "repair.h"

int count;

static void nothing(void) {}

static void add(void) { count++; }

void (*SHARED_1 handler)(void) = nothing;

static void *f(void *arg)
{
	handler = add;
	for (int i = 0; i < 5; i++) {
		count++;
		sched_yield();
	}
	return arg;
}

static void *g(void *arg)
{
	for (int i = 0; i < 10; i++) {
		handler();
		sched_yield();
	}
	return arg;
}

int main(void)
{
	run_two(f, g);
	printf("%d\n", count);
}
