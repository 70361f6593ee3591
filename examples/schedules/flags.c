/*
 * Atomics: flags, counts and pointers that order the conflicting accesses under
 * most schedules, but not under all.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../sync/pair.h"

static int bad; /* set before threads start */
static _Atomic int spent;

/* spend computes for about 4 * n instructions. */
static void spend(int n)
{
	int v = n;

	for (int i = 0; i < n; i++)
		v = v * 3 + i;
	if (v == 12345)
		spent++;
}

static void both(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, f, (void *)0);
	pthread_create(&b, NULL, g, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

#define BODY(name) static void *name(void *arg)

static int early_x;
static atomic_int early_set;
BODY(early_writer)
{
	if (bad)
		atomic_store(&early_set, 1);
	early_x = 1;
	atomic_store(&early_set, 1);
	return arg;
}
BODY(early_reader)
{
	if (atomic_load(&early_set) && early_x == 2)
		printf("two\n");
	return arg;
}
PAIR(early, "a flag that is set before what it announces")
{ bad = broken; atomic_store(&early_set, 0); both(early_writer, early_reader); printf("done\n"); }

static int early_spin_x;
static atomic_int early_spin_set;
BODY(early_spin_writer)
{
	spend(50);
	if (bad)
		atomic_store(&early_spin_set, 1);
	early_spin_x = 1;
	atomic_store(&early_spin_set, 1);
	return arg;
}
BODY(early_spin_reader)
{
	while (!atomic_load(&early_spin_set))
		;
	spend(10);
	while (!atomic_load(&early_spin_set))
		;
	if (early_spin_x == 2)
		printf("two\n");
	return arg;
}
PAIR(early_spin, "the same, a thread waits for the flag")
{ bad = broken; atomic_store(&early_spin_set, 0); both(early_spin_writer, early_spin_reader); printf("done\n"); }

static int once_x;
static atomic_int once_state;
BODY(once_body)
{
	if (bad) {
		if (atomic_load(&once_state) == 0) {
			spend(3);
			once_x++;
			atomic_store(&once_state, 1);
		}
	} else {
		int none = 0;
		if (atomic_compare_exchange_strong(&once_state, &none, 1))
			once_x++;
	}
	return arg;
}
PAIR(once, "initialisation once, test and set apart")
{ bad = broken; atomic_store(&once_state, 0); both(once_body, once_body); printf("%d\n", broken ? 0 : once_x); }

static int lazy_x;
static _Atomic(int *) lazy_at;
BODY(lazy_body)
{
	if (arg)
		spend(800);
	int *p = atomic_load(&lazy_at);
	if (!p) {
		int *none = NULL;
		if (bad) {
			lazy_x = 5;
			atomic_store(&lazy_at, &lazy_x);
		} else if (atomic_compare_exchange_strong(&lazy_at, &none, (int *)&spent)) {
			return NULL;
		}
	} else if (bad && *p == 6) {
		printf("six\n");
	}
	return NULL;
}
PAIR(lazy, "lazy initialisation by two threads, the second usually late")
{ bad = broken; atomic_store(&lazy_at, NULL); both(lazy_body, lazy_body); printf("done\n"); }

static int checked_x;
static atomic_int checked_ready;
static pthread_mutex_t checked_lock = PTHREAD_MUTEX_INITIALIZER;
BODY(checked_body)
{
	if (!atomic_load(&checked_ready)) {
		pthread_mutex_lock(&checked_lock);
		if (!atomic_load(&checked_ready)) {
			if (bad)
				atomic_store(&checked_ready, 1);
			checked_x = 3;
			atomic_store(&checked_ready, 1);
		}
		pthread_mutex_unlock(&checked_lock);
	}
	if (checked_x == 4)
		printf("four\n");
	return arg;
}
PAIR(checked, "double-checked locking that says ready too early")
{ bad = broken; atomic_store(&checked_ready, 0); both(checked_body, checked_body); printf("done\n"); }

static int busy_x;
static atomic_int busy;
BODY(busy_body)
{
	for (int i = 0; i < 3; i++) {
		if (atomic_exchange(&busy, 1) == 0) {
			busy_x++;
			atomic_store(&busy, 0);
		} else if (bad) {
			busy_x++;
		}
	}
	return arg;
}
PAIR(busy, "a busy flag; who finds it set does the work all the same")
{ bad = broken; atomic_store(&busy, 0); both(busy_body, busy_body); printf("%d\n", 0); }

static int spinlock_x;
static atomic_int spinlock;
BODY(spinlock_body)
{
	for (int i = 0; i < 3; i++) {
		if (bad) {
			while (atomic_load(&spinlock))
				;
			atomic_store(&spinlock, 1);
		} else {
			while (atomic_exchange(&spinlock, 1))
				;
		}
		spinlock_x++;
		atomic_store(&spinlock, 0);
	}
	return arg;
}
PAIR(spinlock, "a spin lock that tests and sets in two steps")
{ bad = broken; atomic_store(&spinlock, 0); both(spinlock_body, spinlock_body); printf("%d\n", broken ? 0 : spinlock_x); }

static int inside_x;
static atomic_int inside;
BODY(inside_body)
{
	if (arg)
		spend(400);
	int first = atomic_fetch_add(&inside, 1) == 0;
	if (bad)
		atomic_fetch_sub(&inside, 1);
	if (first)
		inside_x++;
	if (bad)
		atomic_fetch_add(&inside, 1);
	return NULL;
}
PAIR(inside, "who is first inside goes out before the work is done")
{ bad = broken; atomic_store(&inside, 0); both(inside_body, inside_body); printf("%d\n", broken ? 0 : inside_x); }

static int stack_x[2];
static atomic_int stack_top;
BODY(stack_body)
{
	int at;

	if (bad) {
		at = atomic_load(&stack_top);
		spend(2);
		stack_x[at] = 1;
		atomic_store(&stack_top, at + 1);
	} else {
		at = atomic_fetch_add(&stack_top, 1);
		stack_x[at] = 1;
	}
	return arg;
}
PAIR(stack, "a place is taken by a load and a store")
{ bad = broken; atomic_store(&stack_top, 0); both(stack_body, stack_body); printf("%d\n", broken ? 0 : stack_x[0] + stack_x[1]); }

static int last_x;
static atomic_int last_left;
BODY(last_body)
{
	if (arg)
		spend(700);
	if (!bad)
		last_x += arg == NULL;
	int left = atomic_fetch_sub(&last_left, 1);
	if (bad && left == 2)
		last_x = 1;
	if (left == 1 && (bad ? last_x == 2 : last_x == 3))
		printf("more\n");
	return NULL;
}
static void *last_second(void *arg)
{
	int left = atomic_fetch_sub(&last_left, 1);

	if (left == 1 && last_x == 4)
		printf("four\n");
	return arg;
}
PAIR(last, "the count of those who are done goes down before the work")
{ bad = broken; atomic_store(&last_left, 2); both(last_body, last_second); printf("done\n"); }

static int nobody_x;
static atomic_int nobody_seen;
BODY(nobody_body)
{
	if (arg)
		spend(3000);
	int seen = bad ? atomic_load(&nobody_seen) : 1;
	if (seen == 0)
		nobody_x++;
	atomic_fetch_add(&nobody_seen, 1);
	return arg;
}
PAIR(nobody, "nobody was here before, says a count that both read early")
{ bad = broken; atomic_store(&nobody_seen, 0); both(nobody_body, nobody_body); printf("done\n"); }

struct node { int value; _Atomic(struct node *) next; };
static struct node list_x[2];
static _Atomic(struct node *) list_head;
BODY(list_writer)
{
	struct node *n = &list_x[0];

	if (!bad)
		n->value = 7;
	atomic_store(&n->next, atomic_load(&list_head));
	atomic_store(&list_head, n);
	if (bad) {
		n->value = 7;
		atomic_store(&list_head, n);
	}
	return arg;
}
BODY(list_reader)
{
	struct node *n = atomic_load(&list_head);

	if (n && n->value == 8)
		printf("eight\n");
	return arg;
}
PAIR(list, "a node is put into the list before it is filled")
{ bad = broken; atomic_store(&list_head, NULL); both(list_writer, list_reader); printf("done\n"); }

static int turn_x;
static atomic_int turn_of, turn_want[2];
BODY(turn_body)
{
	int me = arg != NULL;

	for (int i = 0; i < 3; i++) {
		if (!bad)
			atomic_store(&turn_want[me], 1);
		atomic_store(&turn_of, !me);
		while (atomic_load(&turn_want[!me]) && atomic_load(&turn_of) == !me)
			;
		if (bad)
			atomic_store(&turn_want[me], 1);
		turn_x++;
		atomic_store(&turn_want[me], 0);
	}
	return arg;
}
PAIR(turn, "Peterson's lock, the wish is said too late")
{
	bad = broken;
	atomic_store(&turn_want[0], 0);
	atomic_store(&turn_want[1], 0);
	both(turn_body, turn_body);
	printf("%d\n", broken ? 0 : turn_x);
}

static int seq_x;
static atomic_int seq_at;
BODY(seq_writer)
{
	for (int i = 1; i <= 3; i++) {
		while (!bad && atomic_load(&seq_at) % 2 != 0)
			;
		seq_x = i;
		atomic_fetch_add(&seq_at, 1);
		spend(5);
	}
	return arg;
}
BODY(seq_reader)
{
	for (int i = 0; i < 3; i++) {
		if (bad) {
			if (atomic_load(&seq_at) > i && seq_x == 9)
				printf("nine\n");
		} else {
			while (atomic_load(&seq_at) % 2 == 0)
				;
			if (seq_x == 9)
				printf("nine\n");
			atomic_fetch_add(&seq_at, 1);
		}
	}
	return arg;
}
PAIR(seq, "a number says that there is something new, and nothing that it was read")
{ bad = broken; atomic_store(&seq_at, 0); both(seq_writer, seq_reader); printf("done\n"); }
