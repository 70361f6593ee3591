/*
 * pointer: a plain pointer publishes what it points to.
 *
 * repair 1: box
 * order: heap by box
 */
#include "repair.h"

struct message {
	int length, sum;
};

struct message *SHARED_1 box;

static void *sender(void *arg)
{
	struct message *m = malloc(sizeof *m);

	m->length = 5;
	m->sum = 7;
	box = m;
	return arg;
}

static void *receiver(void *arg)
{
	wait_for(box);
	printf("%d\n", box->length + box->sum);
	return arg;
}

int main(void) { run_two(sender, receiver); }
