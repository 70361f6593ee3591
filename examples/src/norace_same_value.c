/*
 * norace_same_value: two threads store the same value, atomically.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

int value[4] = {7, 3, 9, 4};
atomic_int found_nine;

static void *search(void *arg)
{
	(void)arg;
	for (int i = 0; i < 4; i++)
		if (value[i] == 9)
			atomic_store(&found_nine, 1);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, search, NULL);
	pthread_create(&b, NULL, search, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("found %d\n", atomic_load(&found_nine));
	return 0;
}
