/*
 * norace_double_checked: double-checked initialisation with an atomic pointer.
 *
 * The release store publishes what was written before it to whoever reads the
 * pointer with acquire.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
	int size;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic(struct table *) instance;

static struct table *get(void)
{
	struct table *t = atomic_load_explicit(&instance, memory_order_acquire);

	if (!t) {
		pthread_mutex_lock(&lock);
		t = atomic_load_explicit(&instance, memory_order_acquire);
		if (!t) {
			t = malloc(sizeof *t);
			t->size = 42;
			atomic_store_explicit(&instance, t, memory_order_release);
		}
		pthread_mutex_unlock(&lock);
	}
	return t;
}

static void *user(void *arg)
{
	*(int *)arg = get()->size;
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
	free(atomic_load(&instance));
	return 0;
}
