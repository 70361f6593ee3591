/*
 * norace_refcount: an atomic reference count.
 *
 * Release, so that what a thread did with the object comes before the free;
 * acquire, so that the freeing thread sees it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct object {
	atomic_int references;
};

static void *drop(void *arg)
{
	struct object *o = arg;

	if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) == 1)
		free(o);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	struct object *o = malloc(sizeof *o);

	atomic_init(&o->references, 2);
	pthread_create(&a, NULL, drop, o);
	pthread_create(&b, NULL, drop, o);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("dropped\n");
	return 0;
}
