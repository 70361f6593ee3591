/*
 * norace_branch: the mode is set before the thread that uses it starts.
 */
#include <pthread.h>
#include <stdio.h>

int mode, total;
int result;

static void *use(void *arg)
{
	if (mode)
		result = total + 1;
	else
		result = total - 1;
	return arg;
}

int main(void)
{
	pthread_t b;

	mode = 1;
	total = 100;
	pthread_create(&b, NULL, use, NULL);
	pthread_join(b, NULL);
	printf("total %d\n", total);
	return 0;
}
