/* A seqlock: a writer publishes snapshots, readers take them again when they met
 * a write. The data are relaxed atomics, as C11 asks for (Boehm, MSPC 2012). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WORDS = 3, ROUNDS = 20 };

static struct {
	atomic_uint sequence;
	atomic_int word[WORDS];
} clock_of;

static void publish(int n)
{
	unsigned s = atomic_load_explicit(&clock_of.sequence, memory_order_relaxed);

	atomic_store_explicit(&clock_of.sequence, s + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&clock_of.word[i], n + i, memory_order_relaxed);
	atomic_store_explicit(&clock_of.sequence, s + 2, memory_order_release);
}

static void snapshot(int *to)
{
	unsigned before, after;

	do {
		before = atomic_load_explicit(&clock_of.sequence, memory_order_acquire);
		for (int i = 0; i < WORDS; i++)
			to[i] = atomic_load_explicit(&clock_of.word[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&clock_of.sequence, memory_order_relaxed);
	} while (before != after || before & 1);
}

static void *reader(void *arg)
{
	int *torn = arg, seen[WORDS];

	for (int n = 0; n < ROUNDS; n++) {
		snapshot(seen);
		for (int i = 1; i < WORDS; i++)
			*torn += seen[i] != seen[0] + i;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	int torn[2] = {0, 0};

	publish(0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, reader, &torn[i]);
	for (int n = 1; n <= ROUNDS; n++)
		publish(n);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d torn\n", torn[0] + torn[1]);
	return 0;
}
