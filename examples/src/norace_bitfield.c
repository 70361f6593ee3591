/*
 * norace_bitfield: neighbouring bytes are memory locations of their own.
 */
#include <pthread.h>
#include <stdio.h>

struct {
	unsigned char opened;
	unsigned char closed;
} state;

static void *open_it(void *arg)
{
	state.opened = 1;
	return arg;
}

static void *close_it(void *arg)
{
	state.closed = 1;
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
