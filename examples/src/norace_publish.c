/*
 * norace_publish: the pointer is stored with release and loaded with acquire.
 *
 * A receiver that sees the pointer sees everything written before it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
	int length;
};

_Atomic(struct message *) box;

static void *sender(void *arg)
{
	struct message *m = malloc(sizeof *m);

	m->length = 5;
	atomic_store_explicit(&box, m, memory_order_release);
	return arg;
}

static void *receiver(void *arg)
{
	struct message *m = NULL;

	for (int i = 0; i < 1000 && !m; i++) {
		m = atomic_load_explicit(&box, memory_order_acquire);
		sched_yield();
	}
	*(int *)arg = m ? m->length : 0;
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int length;

	pthread_create(&a, NULL, receiver, &length);
	pthread_create(&b, NULL, sender, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("length 5 or nothing: %s\n", length == 5 || length == 0 ? "yes" : "no");
	free(atomic_load(&box));
	return 0;
}
