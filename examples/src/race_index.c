/*
 * race_index: a racy index, and the artifact races that it causes.
 *
 * The position in the table is published without a lock. Which entry the
 * reader looks at depends on that race, and whichever it is, the writer may be
 * filling it in: the race on the table is a consequence of the one on pos.
 */
#include <pthread.h>
#include <stdio.h>

int pos;
int table[2];

static void *writer(void *arg)
{
	pos = 1;       /* race: pos */
	table[0] = 10; /* artifact: table */
	table[1] = 20; /* artifact: table */
	return arg;
}

static void *reader(void *arg)
{
	int i = pos;             /* race: pos */
	*(int *)arg = table[i];  /* artifact: table */
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
	printf("seen one of 0, 10, 20: %s\n", seen == 0 || seen == 10 || seen == 20 ? "yes" : "no");
	return 0;
}
