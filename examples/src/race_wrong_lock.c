/*
 * race_wrong_lock: both threads lock, but not the same lock.
 *
 * The list's length is changed under the list's lock by one function and under
 * the cache's lock by another, so the locks exclude nothing.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
int length;

static void *append(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&list_lock);
		length++; /* race: length */
		pthread_mutex_unlock(&list_lock);
	}
	return arg;
}

static void *evict(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&cache_lock);
		length--; /* race: length */
		pthread_mutex_unlock(&cache_lock);
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, append, NULL);
	pthread_create(&b, NULL, evict, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("length %d, want 0\n", length);
	return 0;
}
