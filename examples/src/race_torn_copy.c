/*
 * race_torn_copy: a structure is copied while another thread changes it.
 *
 * The copy may hold one half from before the change and one from behind it,
 * such as a time whose two words do not belong together.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

struct stamp {
	long seconds, nanoseconds;
};

struct stamp now;

static void *tick(void *arg)
{
	for (int i = 1; i <= 20; i++) {
		struct stamp next = {i, i};
		now = next; /* race: now */
		sched_yield();
	}
	return arg;
}

static void *look(void *arg)
{
	struct stamp *copy = arg;

	*copy = now; /* race: now */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	struct stamp seen;

	pthread_create(&a, NULL, tick, NULL);
	pthread_create(&b, NULL, look, &seen);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("the copy is %s\n", seen.seconds == seen.nanoseconds ? "whole" : "torn");
	return 0;
}
