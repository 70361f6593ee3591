/*
 * state: a state that several values of lead on.
 *
 * repair 1: state
 * order: input by state
 * order: output by state
 */
#include "repair.h"

SHARED_1 int state;
int input, output;

static void *client(void *arg)
{
	input = 20;
	state = 1;
	wait_for(state == 2);
	printf("%d\n", output);
	return arg;
}

static void *server(void *arg)
{
	wait_for(state == 1);
	output = input * 2;
	state = 2;
	return arg;
}

int main(void) { run_two(client, server); }
