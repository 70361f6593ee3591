/*
 * Races and what repairs do to them: built without and with -DREPAIRED. Each case is
 * two threads and a race on the variable that is called as the case is, but for block.
 * CASE(name, label): with REPAIRED that race is ordered, not_met or remains.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef REPAIRED
#define FIX(code) code
#define BUG(code)
#else
#define FIX(code)
#define BUG(code) code
#endif

#define CASE(name, label)

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted;
static pthread_barrier_t both;
static atomic_int ready;

CASE(locked, ordered)
static volatile int locked;
static void locked_a(void) { FIX(pthread_mutex_lock(&guard);) locked++; FIX(pthread_mutex_unlock(&guard);) }
static void locked_b(void)
{
	FIX(pthread_mutex_lock(&guard);)
	locked++;
	FIX(pthread_mutex_unlock(&guard);)
}

CASE(handed, ordered)
static volatile int handed;
static void handed_a(void) { handed = 1; FIX(sem_post(&posted);) }
static void handed_b(void) { FIX(sem_wait(&posted);) printf("%d\n", handed); }

CASE(met, ordered)
static volatile int met;
static void met_a(void) { met = 1; FIX(pthread_barrier_wait(&both);) }
static void met_b(void) { FIX(pthread_barrier_wait(&both);) printf("%d\n", met); }

CASE(published, ordered)
static volatile int published;
static void published_a(void)
{
	published = 1;
	FIX(atomic_store_explicit(&ready, 1, memory_order_release);)
}
static void published_b(void)
{
	FIX(while (!atomic_load_explicit(&ready, memory_order_acquire));)
	printf("%d\n", published);
}

CASE(skipped, not_met)
static volatile int skipped;
static volatile int never;
static void skipped_a(void) { FIX(if (never)) skipped = 1; }
static void skipped_b(void) { printf("%d\n", skipped); }

CASE(removed, not_met)
static volatile int removed;
static void removed_a(void) { BUG(removed = 1;) }
static void removed_b(void) { printf("%d\n", removed); }

CASE(apart, not_met)
static volatile int apart[2];
static void apart_a(void) { apart[0]++; }
static void apart_b(void) { apart[0 FIX(+ 1)]++; }

CASE(moved, remains)
static volatile int moved;
static void moved_a(void)
{
	FIX(never = 0;
	never = 0;)
	FIX(

	)
	moved++;
}
static void moved_b(void) { moved++; }

CASE(same, remains)
static volatile int same;
static void same_a(void) { same++; }
static void same_b(void) { same++; }

CASE(block, ordered)
static volatile int *block;
static void block_a(void) { FIX(pthread_mutex_lock(&guard);) block[3]++; FIX(pthread_mutex_unlock(&guard);) }
static void block_b(void) { FIX(pthread_mutex_lock(&guard);) block[3]++; FIX(pthread_mutex_unlock(&guard);) }

static void *call(void *f) { ((void (*)(void))f)(); return NULL; }

static void run(void (*a)(void), void (*b)(void))
{
	pthread_t x, y;

	pthread_create(&x, NULL, call, a);
	pthread_create(&y, NULL, call, b);
	pthread_join(x, NULL);
	pthread_join(y, NULL);
}

CASE(joined, ordered)
static volatile int joined;
static void joined_a(void) { joined = 1; }

int main(void)
{
	pthread_t x;

	sem_init(&posted, 0, 0);
	pthread_barrier_init(&both, NULL, 2);
	block = calloc(8, sizeof *block);
	run(locked_a, locked_b);
	run(handed_a, handed_b);
	run(met_a, met_b);
	run(published_a, published_b);
	run(skipped_a, skipped_b);
	run(removed_a, removed_b);
	run(apart_a, apart_b);
	run(moved_a, moved_b);
	run(same_a, same_b);
	run(block_a, block_b);
	pthread_create(&x, NULL, call, joined_a);
	FIX(pthread_join(x, NULL);)
	printf("%d\n", joined);
	BUG(pthread_join(x, NULL);)
	return 0;
}
