/*
 * subscript: figure 7 of the paper: a racy subscript.
 *
 * repair 1: subscript
 * may: address: a by subscript
 */
#include "repair.h"

SHARED_1 int subscript;
int a[8];

static void *f(void *arg)
{
	subscript = 1;
	sched_yield();
	a[1] = 7;
	return arg;
}

static void *g(void *arg)
{
	int x;

	wait_for((x = subscript));
	sched_yield();
	printf("%d\n", a[x]);
	return arg;
}

int main(void) { run_two(f, g); }
