/*
 * race_publish: a message is published through a plain pointer.
 *
 * Even a reader that sees the pointer may see the message unfilled: on RISC-V,
 * and for the compiler, the two writes are in no order.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
	int length;
};

struct message *box;

static void *sender(void *arg)
{
	struct message *m = malloc(sizeof *m);

	m->length = 5; /* may artifact: heap m */
	box = m;       /* race: box */
	return arg;
}

static void *receiver(void *arg)
{
	struct message *m = NULL;

	for (int i = 0; i < 1000 && !m; i++) {
		m = box; /* race: box */
		sched_yield();
	}
	*(int *)arg = m ? m->length : 0; /* may artifact: heap m */
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
	free(box);
	return 0;
}
