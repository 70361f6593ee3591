/*
 * race_same_value: two threads write the same value to one variable.
 *
 * Whoever comes last, the result is the same, so the race is benign on this
 * machine. It is a race all the same, and undefined behaviour in C.
 */
#include <pthread.h>
#include <stdio.h>

int value[4] = {7, 3, 9, 4};
int found_nine;

static void *search(void *arg)
{
	(void)arg;
	for (int i = 0; i < 4; i++) {
		if (value[i] == 9) {
			found_nine = 1; /* race: found_nine */
			break;
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, search, NULL);
	pthread_create(&b, NULL, search, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("found %d\n", found_nine);
	return 0;
}
