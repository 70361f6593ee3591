/*
 * race_false_sharing: two threads use one array, and their parts overlap.
 *
 * Each of them should have half of the array. The first goes one too far, into
 * what the second writes.
 */
#include <pthread.h>
#include <stdio.h>

#define HALF 4

long data[2 * HALF];

static void *first_half(void *arg)
{
	for (int i = 0; i <= HALF; i++)
		data[i] += 1; /* race: data */
	return arg;
}

static void *second_half(void *arg)
{
	for (int i = HALF; i < 2 * HALF; i++)
		data[i] += 2; /* race: data */
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first_half, NULL);
	pthread_create(&b, NULL, second_half, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("ends %ld %ld\n", data[0], data[2 * HALF - 1]);
	return 0;
}
