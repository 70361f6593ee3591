/*
 * race_index: a racy index, and the artifact races that it causes.
 *
 * The position in the table is published without a lock. Which entry the
 * reader looks at depends on that race, and whichever it is, the writer may be
 * filling it in: the race on the table is a consequence of the one on pos.
 */
#include <pthread.h>
#include <stdio.h>

struct seen {
	int index, entry;
};

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
	struct seen *seen = arg;
	int i = pos;            /* race: pos */
	seen->entry = table[i]; /* artifact: table */
	seen->index = i;
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
