/*
 * norace_check_then_act: the stock is checked and taken under one lock.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int stock = 5;

static void *buyer(void *arg)
{
	int *bought = arg;

	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		if (stock > 0) {
			stock--;
			++*bought;
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int bought_a = 0, bought_b = 0;

	pthread_create(&a, NULL, buyer, &bought_a);
	pthread_create(&b, NULL, buyer, &bought_b);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("bought %d of 5\n", bought_a + bought_b);
	return 0;
}
