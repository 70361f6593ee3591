/*
 * two_subscripts: two racy values make one address: both are causes.
 *
 * repair 1: row
 * repair 2: column
 * may: address: table by column, row
 */
#include "repair.h"

SHARED_1 int row;
SHARED_2 int column;
int table[4][4];

static void *f(void *arg)
{
	row = 1;
	column = 2;
	sched_yield();
	table[1][2] = 7;
	return arg;
}

static void *g(void *arg)
{
	int r, c;

	wait_for((r = row) && (c = column));
	sched_yield();
	printf("%d\n", table[r][c]);
	return arg;
}

int main(void) { run_two(f, g); }
