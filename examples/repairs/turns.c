/*
 * turns: two threads take turns by a plain variable.
 *
 * repair 1: turn
 * order: count by turn
 */
#include "repair.h"

SHARED_1 int turn;
int count;

static void play(int me)
{
	for (int i = 0; i < 10; i++) {
		wait_for(turn == me);
		count++;
		turn = 1 - me;
	}
}

static void *ping(void *arg)
{
	play(0);
	return arg;
}

static void *pong(void *arg)
{
	play(1);
	return arg;
}

int main(void)
{
	run_two(ping, pong);
	printf("%d\n", count);
}
