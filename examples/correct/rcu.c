/* Read-copy-update with epochs: readers say which epoch they are in, the writer
 * frees an old version when no reader is left in an epoch that could hold it. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { READERS = 2, VERSIONS = 8, READS = 20 };

struct config {
	int version, limit;
};

static _Atomic(struct config *) current;
static atomic_ulong epoch = 1;
static atomic_ulong in[READERS]; /* epoch of a reader; 0: it is outside */

static struct config *enter(int who)
{
	atomic_store(&in[who], atomic_load(&epoch));
	return atomic_load(&current);
}

static void leave(int who) { atomic_store(&in[who], 0); }

static void synchronize(void)
{
	unsigned long now = atomic_fetch_add(&epoch, 1) + 1;

	for (int i = 0; i < READERS; i++)
		for (;;) {
			unsigned long e = atomic_load(&in[i]);
			if (e == 0 || e >= now)
				break;
			sched_yield();
		}
}

static void update(int version)
{
	struct config *c = malloc(sizeof *c);

	*c = (struct config){version, 10 * version};
	struct config *old = atomic_exchange(&current, c);
	synchronize();
	free(old);
}

static void *reader(void *arg)
{
	int who = *(int *)arg;

	*(int *)arg = 0;
	for (int n = 0; n < READS; n++) {
		struct config *c = enter(who);
		*(int *)arg += c->limit != 10 * c->version;
		leave(who);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[READERS];
	int arg[READERS], bad = 0;

	update(0);
	for (int i = 0; i < READERS; i++) {
		arg[i] = i;
		pthread_create(&thread[i], NULL, reader, &arg[i]);
	}
	for (int v = 1; v <= VERSIONS; v++)
		update(v);
	for (int i = 0; i < READERS; i++) {
		pthread_join(thread[i], NULL);
		bad += arg[i];
	}
	free(atomic_load(&current));
	printf("%d inconsistent\n", bad);
	return 0;
}
