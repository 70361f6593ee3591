/*
 * race_branch: a racy flag decides what is done, and what is done races too.
 *
 * Which of its two statements the user of the mode executes depends on the
 * race on mode. Both use total, which the other thread sets behind the mode:
 * the race on total is behind that on mode, and stays without it.
 */
#include <pthread.h>
#include <stdio.h>

int mode, total;
int result;

static void *configure(void *arg)
{
	mode = 1;    /* race: mode */
	total = 100; /* race: total */
	return arg;
}

static void *use(void *arg)
{
	if (mode)                /* race: mode */
		result = total + 1;  /* race: total */
	else
		result = total - 1;  /* race: total */
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, configure, NULL);
	pthread_create(&b, NULL, use, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("total %d\n", total);
	return 0;
}
