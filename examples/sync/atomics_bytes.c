/*
 * Atomics of C: their bytes and neighbours, their lives, orders that publish
 * nothing, and plain accesses to the same variable.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "pair.h"

static void start(pthread_t *t, void *(*f)(void *), int broken)
{
	pthread_create(t, NULL, f, (void *)(long)broken);
}

/* both runs f and g at the same time, each told whether the twin is broken. */
static void both(void *(*f)(void *), void *(*g)(void *), int broken)
{
	pthread_t a, b;

	start(&a, f, broken);
	start(&b, g, broken);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static struct {
	atomic_flag flag;
	char beside;
} byte_beside_x = {ATOMIC_FLAG_INIT, 0};
static void *byte_beside_a(void *broken)
{
	while (atomic_flag_test_and_set(&byte_beside_x.flag))
		sched_yield();
	byte_beside_x.beside = 1;
	if (!broken)
		atomic_flag_clear(&byte_beside_x.flag);
	return NULL;
}
static void *byte_beside_b(void *broken)
{
	if (!broken)
		while (atomic_flag_test_and_set(&byte_beside_x.flag))
			sched_yield();
	byte_beside_x.beside = 2;
	atomic_flag_clear(&byte_beside_x.flag);
	return NULL;
}
PAIR(byte_beside, "plain char beside an atomic_flag")
{
	both(byte_beside_a, byte_beside_b, broken);
	printf("%d\n", broken || byte_beside_x.beside);
}

static struct {
	atomic_flag one, other;
	int guarded;
} two_flags_x = {ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, 0};
static void *two_flags_a(void *broken)
{
	(void)broken;
	while (atomic_flag_test_and_set(&two_flags_x.one))
		sched_yield();
	two_flags_x.guarded++;
	atomic_flag_clear(&two_flags_x.one);
	return NULL;
}
static void *two_flags_b(void *broken)
{
	atomic_flag *mine = broken ? &two_flags_x.other : &two_flags_x.one;

	while (atomic_flag_test_and_set(mine))
		sched_yield();
	two_flags_x.guarded++;
	atomic_flag_clear(mine);
	return NULL;
}
PAIR(two_flags, "spin locks of one byte beside each other")
{
	both(two_flags_a, two_flags_b, broken);
	printf("%d\n", broken ? 2 : two_flags_x.guarded);
}

static struct {
	_Atomic unsigned short half;
	unsigned short beside;
} half_beside_x;
static void *half_beside_a(void *broken)
{
	if (!broken)
		half_beside_x.beside = 3;
	atomic_fetch_add(&half_beside_x.half, 1);
	if (broken)
		half_beside_x.beside = 3;
	return NULL;
}
static void *half_beside_b(void *broken)
{
	(void)broken;
	while (!atomic_load(&half_beside_x.half))
		sched_yield();
	half_beside_x.beside++;
	return NULL;
}
PAIR(half_beside, "plain short beside an atomic one")
{
	both(half_beside_a, half_beside_b, broken);
	printf("%d\n", broken ? 4 : half_beside_x.beside);
}

static atomic_bool stop_relaxed_f;
static int stop_relaxed_x;
static void *stop_relaxed_a(void *broken)
{
	while (!atomic_load_explicit(&stop_relaxed_f, memory_order_relaxed))
		sched_yield();
	if (broken)
		stop_relaxed_x++;
	return NULL;
}
PAIR(stop_relaxed, "relaxed atomic_bool that ends a loop")
{
	pthread_t t;

	start(&t, stop_relaxed_a, broken);
	stop_relaxed_x++;
	atomic_store_explicit(&stop_relaxed_f, true, memory_order_relaxed);
	pthread_join(t, NULL);
	printf("%d\n", broken ? 1 : stop_relaxed_x);
}

static atomic_uchar byte_relaxed_f;
static int byte_relaxed_x;
static void *byte_relaxed_relaxed(void *unused)
{
	(void)unused;
	byte_relaxed_x = 1;
	atomic_fetch_add_explicit(&byte_relaxed_f, 1, memory_order_relaxed);
	return NULL;
}
static void *byte_relaxed_released(void *unused)
{
	(void)unused;
	byte_relaxed_x = 1;
	atomic_fetch_add_explicit(&byte_relaxed_f, 1, memory_order_release);
	return NULL;
}
static void *byte_relaxed_b(void *unused)
{
	(void)unused;
	while (!atomic_load_explicit(&byte_relaxed_f, memory_order_acquire))
		sched_yield();
	byte_relaxed_x++;
	return NULL;
}
PAIR(byte_relaxed, "fetch_add of a byte, relaxed instead of release")
{
	both(broken ? byte_relaxed_relaxed : byte_relaxed_released, byte_relaxed_b, broken);
	printf("%d\n", broken ? 2 : byte_relaxed_x);
}

static atomic_int acquire_missing_f;
static int acquire_missing_x;
static void *acquire_missing_a(void *unused)
{
	(void)unused;
	acquire_missing_x = 1;
	atomic_store_explicit(&acquire_missing_f, 1, memory_order_release);
	return NULL;
}
static void *acquire_missing_b(void *broken)
{
	if (broken)
		while (!atomic_load_explicit(&acquire_missing_f, memory_order_relaxed))
			sched_yield();
	else
		while (!atomic_load_explicit(&acquire_missing_f, memory_order_acquire))
			sched_yield();
	acquire_missing_x++;
	return NULL;
}
PAIR(acquire_missing, "release store, relaxed load instead of acquire")
{
	both(acquire_missing_a, acquire_missing_b, broken);
	printf("%d\n", broken ? 2 : acquire_missing_x);
}

static atomic_int cas_failed_f;
static int cas_failed_x;
static void *cas_failed_a(void *unused)
{
	(void)unused;
	cas_failed_x = 1;
	atomic_store_explicit(&cas_failed_f, 1, memory_order_release);
	return NULL;
}
static void *cas_failed_b(void *broken)
{
	for (;;) {
		int none = 0;

		if (broken ? !atomic_compare_exchange_strong_explicit(&cas_failed_f, &none, 0, memory_order_acq_rel, memory_order_relaxed)
			   : !atomic_compare_exchange_strong_explicit(&cas_failed_f, &none, 0, memory_order_acq_rel, memory_order_acquire))
			break;
		sched_yield();
	}
	cas_failed_x++;
	return NULL;
}
PAIR(cas_failed, "compare-and-swap that fails: acquire, or relaxed")
{
	both(cas_failed_a, cas_failed_b, broken);
	printf("%d\n", broken ? 2 : cas_failed_x);
}

static atomic_int mixed_count_x;
static void *mixed_count_a(void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++)
		atomic_fetch_add(&mixed_count_x, 1);
	return NULL;
}
static void *mixed_count_b(void *broken)
{
	for (int i = 0; i < 5; i++)
		if (broken)
			(*(int *)&mixed_count_x)++;
		else
			atomic_fetch_add(&mixed_count_x, 1);
	return NULL;
}
PAIR(mixed_count, "atomic and plain increments of one variable")
{
	both(mixed_count_a, mixed_count_b, broken);
	printf("%d\n", broken ? 10 : mixed_count_x);
}

static atomic_int mixed_clear_x[4];
static void *mixed_clear_a(void *unused)
{
	(void)unused;
	atomic_store(&mixed_clear_x[1], 1);
	return NULL;
}
static void *mixed_clear_b(void *broken)
{
	if (broken)
		memset((void *)mixed_clear_x, 0, sizeof mixed_clear_x);
	else
		for (int i = 0; i < 4; i++)
			atomic_store(&mixed_clear_x[i], 0);
	return NULL;
}
PAIR(mixed_clear, "memset of atomics that others store to")
{
	both(mixed_clear_a, mixed_clear_b, broken);
	printf("cleared\n");
}

static int frame_reused;
static int *frame_reused_at;
static void *frame_reused_a(void *unused)
{
	(void)unused;
	*frame_reused_at = 1;
	return NULL;
}
static void *frame_reused_b(void *unused)
{
	(void)unused;
	return (void *)(long)(*frame_reused_at == 7);
}
static __attribute__((noinline)) void frame_of_atomics(void)
{
	atomic_int a[16];

	for (int i = 0; i < 16; i++)
		atomic_store(&a[i], i);
	frame_reused += atomic_load(&a[3]);
}
static __attribute__((noinline)) void frame_of_data(int broken)
{
	int frame_reused_data[16] = {0};
	pthread_t a;

	frame_reused_at = &frame_reused_data[8];
	if (broken) {
		both(frame_reused_a, frame_reused_b, 1);
	} else {
		start(&a, frame_reused_a, 0);
		pthread_join(a, NULL);
		start(&a, frame_reused_b, 0);
		pthread_join(a, NULL);
	}
}
PAIR(frame_reused, "plain data on the stack where atomics were")
{
	frame_of_atomics();
	frame_of_data(broken);
	printf("%d\n", frame_reused);
}

static atomic_int relaxed_only_x;
static void *relaxed_only_a(void *broken)
{
	for (int i = 0; i < 50; i++) {
		int old = atomic_load_explicit(&relaxed_only_x, memory_order_relaxed);

		if (broken)
			*(volatile int *)&relaxed_only_x = old + 1;
		else
			while (!atomic_compare_exchange_weak_explicit(&relaxed_only_x, &old, old + 1,
				memory_order_relaxed, memory_order_relaxed))
				;
	}
	return NULL;
}
PAIR(relaxed_only, "relaxed load and compare-and-swap; a plain store instead")
{
	both(relaxed_only_a, relaxed_only_a, broken);
	printf("%d\n", broken ? 100 : relaxed_only_x);
}

/* Orders that gcc 12 writes alike, so that only the text of the source tells them apart. */
static int cas_order_x;
static atomic_int cas_order_f;
static void *cas_order_a(void *broken)
{
	int old = 0;

	cas_order_x = 1;
	if (broken)
		while (!atomic_compare_exchange_weak_explicit(&cas_order_f, &old, 1, memory_order_relaxed, memory_order_relaxed))
			old = 0;
	else
		while (!atomic_compare_exchange_weak_explicit(&cas_order_f, &old, 1, memory_order_release, memory_order_relaxed))
			old = 0;
	return NULL;
}
static void *cas_order_b(void *broken)
{
	(void)broken;
	while (!atomic_load_explicit(&cas_order_f, memory_order_acquire))
		sched_yield();
	cas_order_x++;
	return NULL;
}
PAIR(cas_order, "compare-and-swap that publishes: release, or relaxed")
{
	both(cas_order_a, cas_order_b, broken);
	printf("%d\n", broken ? 2 : cas_order_x);
}

static int fence_kind_x;
static atomic_int fence_kind_f;
static void *fence_kind_a(void *broken)
{
	fence_kind_x = 1;
	if (broken) {
		atomic_thread_fence(memory_order_acquire);
		atomic_store_explicit(&fence_kind_f, 1, memory_order_relaxed);
	} else {
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&fence_kind_f, 1, memory_order_relaxed);
	}
	return NULL;
}
static void *fence_kind_b(void *broken)
{
	(void)broken;
	while (!atomic_load_explicit(&fence_kind_f, memory_order_relaxed))
		sched_yield();
	atomic_thread_fence(memory_order_acquire);
	fence_kind_x++;
	return NULL;
}
PAIR(fence_kind, "the fence before a relaxed store: release, or acquire")
{
	both(fence_kind_a, fence_kind_b, broken);
	printf("%d\n", broken ? 2 : fence_kind_x);
}

/* One load and one store of the pointer, each next to a fence of its own. */
static pthread_mutex_t checked_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int *) checked_x;
static int checked_room;
static void *checked_a(void *broken)
{
	int *p = atomic_load_explicit(&checked_x, memory_order_relaxed);

	atomic_thread_fence(memory_order_acquire);
	if (p && !broken)
		return p;
	pthread_mutex_lock(&checked_lock);
	p = atomic_load_explicit(&checked_x, memory_order_relaxed);
	if (!p) {
		p = &checked_room;
		*p = 5;
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&checked_x, p, memory_order_relaxed);
	}
	pthread_mutex_unlock(&checked_lock);
	if (broken)
		*(int *volatile *)&checked_x = p;
	return p;
}
PAIR(checked, "double-checked locking by fences; a plain store of the pointer")
{
	both(checked_a, checked_a, broken);
	printf("%d\n", *checked_x);
}

/* The last of two owners frees: only an acquire shows it what the other did. */
struct free_counted {
	atomic_int owners;
	int mine[2];
};
static struct free_counted *free_counted_x;
static int free_counted_broken;
static void *free_counted_put(void *which)
{
	struct free_counted *x = free_counted_x;

	x->mine[(long)which]++;
	if (free_counted_broken ? atomic_fetch_sub_explicit(&x->owners, 1, memory_order_relaxed) == 1
				: atomic_fetch_sub_explicit(&x->owners, 1, memory_order_acq_rel) == 1)
		free(x);
	return NULL;
}
PAIR(free_counted, "an atomic count of owners, the last of whom frees")
{
	pthread_t a, b;

	free_counted_broken = broken;
	free_counted_x = calloc(1, sizeof *free_counted_x);
	atomic_init(&free_counted_x->owners, 2);
	start(&a, free_counted_put, 0);
	start(&b, free_counted_put, 1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	puts("freed");
}

/* What a compare-and-swap that fails acquires is not lost in the lock after it. */
static int failed_swap_x;
static atomic_int failed_swap_state;
static pthread_mutex_t failed_swap_lock = PTHREAD_MUTEX_INITIALIZER;
static void *failed_swap_a(void *broken)
{
	if (!broken)
		failed_swap_x = 1;
	atomic_store_explicit(&failed_swap_state, 1, memory_order_release);
	if (broken)
		failed_swap_x = 1;
	return NULL;
}
static void *failed_swap_b(void *broken)
{
	int state;

	do {
		state = 2;
		atomic_compare_exchange_strong_explicit(&failed_swap_state, &state, 3, memory_order_acq_rel, memory_order_acquire);
	} while (state == 0);
	pthread_mutex_lock(&failed_swap_lock);
	failed_swap_x++;
	pthread_mutex_unlock(&failed_swap_lock);
	return broken;
}
PAIR(failed_swap, "a compare-and-swap that fails, and a lock after it")
{
	both(failed_swap_a, failed_swap_b, broken);
	printf("%d\n", broken ? 0 : failed_swap_x);
}
