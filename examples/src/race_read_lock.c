/*
 * race_read_lock: a function that changes something holds the read lock only.
 *
 * Counting hits looked harmless enough for a look-up that is otherwise a read,
 * but readers do not exclude each other.
 */
#include <pthread.h>
#include <stdio.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value[4] = {3, 1, 4, 1};
int hits;

static void *lookup(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 40; i++) {
		pthread_rwlock_rdlock(&lock);
		sum += value[i % 4];
		hits++; /* race: hits */
		pthread_rwlock_unlock(&lock);
	}
	*(long *)arg = sum;
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	long sum_a, sum_b;

	pthread_create(&a, NULL, lookup, &sum_a);
	pthread_create(&b, NULL, lookup, &sum_b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("sums %ld %ld, hits %d of 80\n", sum_a, sum_b, hits);
	return 0;
}
