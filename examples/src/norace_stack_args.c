/*
 * norace_stack_args: the arguments live in main's frame, which outlasts the
 * threads.
 */
#include <pthread.h>
#include <stdio.h>

struct args {
	int first, last;
};

static void *work(void *arg)
{
	struct args *a = arg;
	return (void *)(long)(a->last - a->first);
}

static pthread_t start(struct args *a, int first, int last)
{
	pthread_t thread;

	a->first = first;
	a->last = last;
	pthread_create(&thread, NULL, work, a);
	return thread;
}

int main(void)
{
	pthread_t a, b;
	struct args args[2];

	a = start(&args[0], 0, 10);
	b = start(&args[1], 10, 20);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("joined 2\n");
	return 0;
}
