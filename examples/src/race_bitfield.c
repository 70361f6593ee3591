/*
 * race_bitfield: two threads set neighbouring bit-fields, each its own.
 *
 * Neighbours share a memory location: setting one reads and writes the other,
 * so that a thread can put back what the other has just changed.
 */
#include <pthread.h>
#include <stdio.h>

struct {
	unsigned opened : 1;
	unsigned closed : 1;
} state;

static void *open_it(void *arg)
{
	state.opened = 1; /* race: state */
	return arg;
}

static void *close_it(void *arg)
{
	state.closed = 1; /* race: state */
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, open_it, NULL);
	pthread_create(&b, NULL, close_it, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("opened %d, closed %d, want 1 1\n", state.opened, state.closed);
	return 0;
}
