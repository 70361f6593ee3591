/*
 * quit_last: the flag is reset behind the update, to what it was: who reads it learns nothing.
 *
 * repair 1: quit
 * own: stats
 */
#include "repair.h"

SHARED_1 int quit;
int stats;

static void *f(void *arg)
{
	stats++;
	sched_yield();
	quit = 0;
	return arg;
}

static void *g(void *arg)
{
	sched_yield();
	if (quit)
		return arg;
	stats++;
	return arg;
}

int main(void) { run_two(f, g); }
