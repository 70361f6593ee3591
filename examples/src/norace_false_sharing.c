/*
 * norace_false_sharing: two threads write neighbouring words of one cache line.
 *
 * That is slow and correct: the bytes are different ones. race_false_sharing
 * is the mistake next to it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

long sum[2];

static void *work(void *arg)
{
	int self = *(int *)arg;

	for (int i = 1; i <= 20; i++) {
		sum[self] += i;
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int id[2] = {0, 1};

	pthread_create(&a, NULL, work, &id[0]);
	pthread_create(&b, NULL, work, &id[1]);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("sums %ld %ld\n", sum[0], sum[1]);
	return 0;
}
