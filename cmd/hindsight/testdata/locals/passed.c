/* Locals of functions that recurse, whose addresses threads get; blocks whose
 * variables may share memory; memory whose size is known at run time only. */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct node {
	long depth;
	int hits, seen[4];
	struct node *up;
};

static void *work(void *arg)
{
	struct node *n = arg;
	for (int i = 0; i < 20; i++) {
		n->hits++;
		n->seen[i % 4]++;
	}
	if (n->up)
		n->up->hits++;
	return NULL;
}

static long level(int depth, struct node *up)
{
	struct node node = {.depth = depth, .up = up};
	pthread_t t;

	pthread_create(&t, NULL, work, &node);
	if (depth > 0)
		node.hits += (int)level(depth - 1, &node);
	node.hits++;
	pthread_join(t, NULL);
	return node.hits;
}

static long blocks(int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (i % 2) {
			struct node odd = {.depth = i};
			pthread_create(&t, NULL, work, &odd);
			odd.hits++;
			pthread_join(t, NULL);
			sum += odd.hits;
		} else {
			struct node even = {.depth = i};
			struct node *more = alloca(sizeof *more * (size_t)(n + 1));
			memset(more, 0, sizeof *more);
			pthread_create(&t, NULL, work, &even);
			even.seen[0]++;
			more->hits++;
			pthread_join(t, NULL);
			sum += even.hits;
		}
	}
	return sum;
}

int main(void)
{
	long nodes = level(3, NULL);
	printf("%ld %ld\n", nodes, blocks(4));
	return 0;
}
