/*
 * race_stack_args: a thread's arguments are in the frame of a function that
 * has returned.
 *
 * The second call of start builds its frame where the first one's was, so it
 * writes the second thread's arguments over those that the first thread may
 * still be reading.
 */
#include <pthread.h>
#include <stdio.h>

struct args {
	int first, last;
};

static void *work(void *arg)
{
	struct args *a = arg;
	return (void *)(long)(a->last - a->first); /* race: stack a */
}

__attribute__((noinline)) static pthread_t start(int first, int last)
{
	struct args a;
	pthread_t thread;

	a.first = first; /* race: stack a */
	a.last = last;   /* race: stack a */
	pthread_create(&thread, NULL, work, &a);
	return thread;
}

int main(void)
{
	pthread_t a, b;

	a = start(0, 10);
	b = start(10, 20);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("joined 2\n");
	return 0;
}
