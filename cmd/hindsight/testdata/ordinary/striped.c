#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define STRIPES 32
#define BUCKETS 4096
struct node {
	unsigned key;
	long value;
	struct node *next;
};
static struct node *table[BUCKETS];
static pthread_mutex_t lock[STRIPES];
static int n = 100000;
static void *work(void *a)
{
	unsigned x = (long)a * 7919 + 1;
	for (int i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		unsigned k = x >> 12 & 0x3fff, b = k * 2654435761u >> 20 & (BUCKETS - 1);
		pthread_mutex_t *l = &lock[b % STRIPES];
		pthread_mutex_lock(l);
		struct node **p = &table[b];
		while (*p && (*p)->key != k)
			p = &(*p)->next;
		if ((x & 15) == 0) {
			if (*p) {
				struct node *d = *p;
				*p = d->next;
				free(d);
			}
		} else if (*p)
			(*p)->value += i;
		else {
			struct node *d = malloc(sizeof *d);
			d->key = k;
			d->value = 1;
			d->next = table[b];
			table[b] = d;
		}
		pthread_mutex_unlock(l);
	}
	return 0;
}
int main(int c, char **v)
{
	if (c > 1)
		n = atoi(v[1]);
	pthread_t t[4];
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&lock[i], 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	long s = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (struct node *p = table[i]; p; p = p->next)
			s += p->value;
	printf("%ld\n", s);
}
