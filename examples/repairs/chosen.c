/*
 * chosen: a racy pointer chooses the counter; both threads add to it.
 *
 * repair 1: chosen
 * may: address: b by chosen
 */
#include "repair.h"

int a, b;
int *SHARED_1 chosen = &a;

static void *f(void *arg)
{
	chosen = &b;
	sched_yield();
	b++;
	return arg;
}

static void *g(void *arg)
{
	int *p;

	wait_for((p = chosen) != &a);
	sched_yield();
	++*p;
	return arg;
}

int main(void)
{
	run_two(f, g);
	printf("%d %d\n", a, b);
}
