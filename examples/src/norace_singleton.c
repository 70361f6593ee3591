/*
 * norace_singleton: pthread_once makes the object, once, before anyone uses it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
	int verbosity;
};

pthread_once_t once = PTHREAD_ONCE_INIT;
struct config *config;

static void make_config(void)
{
	config = malloc(sizeof *config);
	config->verbosity = 3;
}

static struct config *get_config(void)
{
	pthread_once(&once, make_config);
	return config;
}

static void *user(void *arg)
{
	*(int *)arg = get_config()->verbosity;
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
