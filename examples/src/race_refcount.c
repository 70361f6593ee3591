/*
 * race_refcount: a plain reference count.
 *
 * When both threads read 2 and both write 1, nobody frees the object; the
 * other way round it is freed while somebody still holds it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct object {
	int references;
};

static void *drop(void *arg)
{
	struct object *o = arg;

	if (--o->references == 0) /* race: heap o */
		free(o); /* may race: heap o */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	struct object *o = malloc(sizeof *o);

	o->references = 2;
	pthread_create(&a, NULL, drop, o);
	pthread_create(&b, NULL, drop, o);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("dropped\n");
	return 0;
}
