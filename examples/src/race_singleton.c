/*
 * race_singleton: a lazily made object, made by whoever comes first.
 *
 * Two threads may both find none and both make one; and a thread that finds
 * one may find it unfinished.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
	int verbosity;
};

struct config *config;

static struct config *get_config(void)
{
	if (!config) { /* race: config */
		struct config *c = malloc(sizeof *c);
		c->verbosity = 3; /* may race: heap c */
		config = c;       /* race: config */
	}
	return config; /* race: config */
}

static void *user(void *arg)
{
	*(int *)arg = get_config()->verbosity; /* may race: heap c */ /* race: config */
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int seen_a, seen_b;

	pthread_create(&a, NULL, user, &seen_a);
	pthread_create(&b, NULL, user, &seen_b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("verbosity %d %d\n", seen_a, seen_b);
	return 0;
}
