// Four threads take one of 64 mutexes at a time and change what it protects; each
// also works on memory of its own. One counter has no mutex.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, MUTEXES = 64, WORDS = 32, OWN = 64 };

static pthread_mutex_t mutex[MUTEXES];
static long protected[MUTEXES][WORDS];
static long racy;
static int rounds;

static void *work(void *arg)
{
	unsigned x = (unsigned)(long)arg * 2654435761u + 1;
	long own[OWN] = {0};
	for (int i = 0; i < rounds; i++) {
		x = x * 1664525u + 1013904223u;
		unsigned k = x >> 26;
		pthread_mutex_lock(&mutex[k]);
		for (int j = 0; j < WORDS; j++)
			protected[k][j] += j ^ x;
		pthread_mutex_unlock(&mutex[k]);
		for (int j = 0; j < OWN; j++)
			own[j] += x >> j % 32;
		if (i % 4096 == 0)
			racy++;
	}
	return (void *)own[x % OWN];
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	rounds = argc > 1 ? atoi(argv[1]) : 20000;
	for (int i = 0; i < MUTEXES; i++)
		pthread_mutex_init(&mutex[i], NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", protected[3][4] + racy);
	return 0;
}
