/*
 * race_double_checked: double-checked initialisation with plain variables.
 *
 * The first check is outside the lock, so the pointer is read while another
 * thread may be writing it. Worse, a thread that sees the pointer need not see
 * what it points to: nothing orders the two writes for a reader without lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
	int size;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct table *instance;

static struct table *get(void)
{
	if (!instance) { /* race: instance */
		pthread_mutex_lock(&lock);
		if (!instance) {
			struct table *t = malloc(sizeof *t);
			t->size = 42; /* may race: heap t */
			instance = t; /* race: instance */
		}
		pthread_mutex_unlock(&lock);
	}
	return instance; /* may race: instance */
}

static void *user(void *arg)
{
	*(int *)arg = get()->size; /* may race: heap t */ /* may race: instance */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int size_a = 0, size_b = 0;

	pthread_create(&a, NULL, user, &size_a);
	pthread_create(&b, NULL, user, &size_b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("sizes %d %d\n", size_a, size_b);
	free(instance);
	return 0;
}
