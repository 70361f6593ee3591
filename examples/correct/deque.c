/* Work stealing: the deque of Chase and Lev (SPAA 2005) in the C11 form of Lê,
 * Pop, Cohen and Zappa Nardelli (PPoPP 2013), with a ring that does not grow. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { RING = 64, ITEMS = 48, THIEVES = 2 };

struct task {
	int number;
	int square; /* by whoever runs it */
};

static struct deque {
	atomic_long top, bottom;
	_Atomic(struct task *) ring[RING];
} deque;

static struct task task[ITEMS];
static atomic_int done;
static long sum_of[THIEVES + 1];

static void push(struct deque *d, struct task *t)
{
	long b = atomic_load_explicit(&d->bottom, memory_order_relaxed);

	atomic_store_explicit(&d->ring[b % RING], t, memory_order_relaxed);
	atomic_store_explicit(&d->bottom, b + 1, memory_order_release);
}

static struct task *take(struct deque *d)
{
	long b = atomic_load(&d->bottom) - 1;
	atomic_store(&d->bottom, b);
	long t = atomic_load(&d->top);
	struct task *x = NULL;

	if (t <= b) {
		x = atomic_load_explicit(&d->ring[b % RING], memory_order_relaxed);
		if (t == b) {
			if (!atomic_compare_exchange_strong(&d->top, &t, t + 1))
				x = NULL;
			atomic_store(&d->bottom, b + 1);
		}
	} else {
		atomic_store(&d->bottom, b + 1);
	}
	return x;
}

static struct task *steal(struct deque *d)
{
	long t = atomic_load(&d->top);
	long b = atomic_load(&d->bottom);

	if (t >= b)
		return NULL;
	struct task *x = atomic_load_explicit(&d->ring[t % RING], memory_order_relaxed);
	return atomic_compare_exchange_strong(&d->top, &t, t + 1) ? x : NULL;
}

static void run(struct task *t, int who)
{
	t->square = t->number * t->number;
	sum_of[who] += t->square;
	atomic_fetch_add(&done, 1);
}

static void *thief(void *arg)
{
	int who = *(int *)arg;

	while (atomic_load(&done) < ITEMS) {
		struct task *t = steal(&deque);
		if (t)
			run(t, who);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THIEVES];
	int id[THIEVES];
	long sum = 0;

	for (int i = 0; i < THIEVES; i++) {
		id[i] = i + 1;
		pthread_create(&thread[i], NULL, thief, &id[i]);
	}
	for (int i = 0; i < ITEMS; i++) {
		task[i].number = i;
		push(&deque, &task[i]);
		if (i % 3 == 2) {
			struct task *t = take(&deque);
			if (t)
				run(t, 0);
		}
	}
	while (atomic_load(&done) < ITEMS) {
		struct task *t = take(&deque);
		if (t)
			run(t, 0);
	}
	for (int i = 0; i < ITEMS; i++)
		sum += task[i].square;
	for (int i = 0; i < THIEVES; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i <= THIEVES; i++)
		sum -= sum_of[i];
	printf("left %ld\n", sum);
	return 0;
}
