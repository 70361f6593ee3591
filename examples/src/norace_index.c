/*
 * norace_index: index and table change, and are read, under one lock.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int pos;
int table[2];

static void *writer(void *arg)
{
	pthread_mutex_lock(&lock);
	pos = 1;
	table[0] = 10;
	table[1] = 20;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *reader(void *arg)
{
	pthread_mutex_lock(&lock);
	*(int *)arg = table[pos];
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int seen = -1;

	pthread_create(&a, NULL, writer, NULL);
	pthread_create(&b, NULL, reader, &seen);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("seen one of 0, 20: %s\n", seen == 0 || seen == 20 ? "yes" : "no");
	return 0;
}
