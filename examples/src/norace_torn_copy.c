/*
 * norace_torn_copy: the structure is changed and copied under a lock.
 */
#include <pthread.h>
#include <stdio.h>

struct stamp {
	long seconds, nanoseconds;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct stamp now;

static void *tick(void *arg)
{
	for (int i = 1; i <= 20; i++) {
		struct stamp next = {i, i};
		pthread_mutex_lock(&lock);
		now = next;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *look(void *arg)
{
	struct stamp *copy = arg;

	pthread_mutex_lock(&lock);
	*copy = now;
	pthread_mutex_unlock(&lock);
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
