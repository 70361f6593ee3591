/*
 * norace_index: index and table change, and are read, under one lock.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct seen {
	int index, entry;
};

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
	struct seen *seen = arg;

	pthread_mutex_lock(&lock);
	seen->index = pos;
	seen->entry = table[pos];
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	struct seen seen;

	pthread_create(&a, NULL, writer, NULL);
	pthread_create(&b, NULL, reader, &seen);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("seen no impossible entry: %s\n", seen.entry == 0 || seen.entry == 10 * (seen.index + 1) ? "yes" : "no");
	return 0;
}
