/*
 * quit: lost updates behind a racy flag stay lost when the flag is repaired.
 *
 * repair 1: quit
 * own: stats
 * own: total
 */
#include "repair.h"

SHARED_1 int quit;
int stats, total;

static void *f(void *arg)
{
	quit = 0;
	stats++;
	total += 5;
	return arg;
}

static void *g(void *arg)
{
	if (quit)
		return arg;
	stats++;
	total += 7;
	return arg;
}

int main(void) { run_two(f, g); }
