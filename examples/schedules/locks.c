/*
 * POSIX threads: locks, semaphores, conditions and barriers that order the
 * conflicting accesses under most schedules, but not under all.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../sync/pair.h"

static int bad; /* set before threads start */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
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

/* touch takes the lock for something else. */
static void touch(void)
{
	pthread_mutex_lock(&lock);
	spend(2);
	pthread_mutex_unlock(&lock);
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

static int handover_x;
BODY(handover_a) { handover_x = 1; touch(); return arg; }
BODY(handover_b)
{
	touch();
	if (bad)
		handover_x = 2;
	return arg;
}
PAIR(handover, "a lock taken between two accesses, by chance in the right order")
{ bad = broken; both(handover_a, handover_b); printf("%d\n", broken ? 0 : handover_x); }

static int handover_late_x;
BODY(handover_late_a) { handover_late_x = 1; touch(); return arg; }
BODY(handover_late_b)
{
	spend(3000);
	touch();
	if (bad)
		handover_late_x = 2;
	return arg;
}
PAIR(handover_late, "the same, the second thread comes much later")
{ bad = broken; both(handover_late_a, handover_late_b); printf("%d\n", broken ? 0 : handover_late_x); }

static int handover_early_x;
BODY(handover_early_a) { spend(5000); handover_early_x = 1; touch(); return arg; }
BODY(handover_early_b)
{
	for (int i = 0; i < 50; i++) {
		spend(100);
		touch();
	}
	if (bad)
		handover_early_x = 2;
	return arg;
}
PAIR(handover_early, "a thread that takes the lock often before its access")
{ bad = broken; both(handover_early_a, handover_early_b); printf("%d\n", broken ? 0 : handover_early_x); }

static int child_first_x;
BODY(child_first_body)
{
	touch();
	if (child_first_x == 2)
		printf("two\n");
	return arg;
}
PAIR(child_first, "what a thread needs is set after its creation")
{
	pthread_t t;

	if (!broken)
		child_first_x = 1;
	pthread_create(&t, NULL, child_first_body, NULL);
	if (broken)
		child_first_x = 1;
	touch();
	pthread_join(t, NULL);
	printf("done\n");
}

static int child_slow_x;
BODY(child_slow_body)
{
	spend(2000);
	touch();
	if (child_slow_x == 2)
		printf("two\n");
	return arg;
}
PAIR(child_slow, "the same, the thread has other things to do first")
{
	pthread_t t;

	if (!broken)
		child_slow_x = 1;
	pthread_create(&t, NULL, child_slow_body, NULL);
	if (broken)
		child_slow_x = 1;
	touch();
	pthread_join(t, NULL);
	printf("done\n");
}

static int sleep_x;
BODY(sleep_body) { sleep_x = 1; touch(); return arg; }
PAIR(sleep, "usleep in place of pthread_join")
{
	pthread_t t;

	pthread_create(&t, NULL, sleep_body, NULL);
	if (broken)
		usleep(1000);
	else
		pthread_join(t, NULL);
	touch();
	if (sleep_x == 2)
		printf("two\n");
	if (broken)
		pthread_join(t, NULL);
	printf("done\n");
}

static int sleep_turns_x;
BODY(sleep_turns_body)
{
	for (int i = 0; i < 4; i++) {
		if (i % 2 == (arg != NULL) || !bad) {
			if (!bad)
				pthread_mutex_lock(&other);
			sleep_turns_x++;
			if (!bad)
				pthread_mutex_unlock(&other);
		}
		touch();
		usleep(2000);
		touch();
	}
	return NULL;
}
PAIR(sleep_turns, "two threads take turns by sleeping")
{ bad = broken; both(sleep_turns_body, sleep_turns_body); printf("%d\n", broken ? 0 : sleep_turns_x); }

static int sleep_work_x;
BODY(sleep_work_body) { spend(20000); sleep_work_x = 1; touch(); return arg; }
PAIR(sleep_work, "a sleep that is long enough for the work of another thread")
{
	pthread_t t;

	pthread_create(&t, NULL, sleep_work_body, NULL);
	if (broken)
		usleep(10000);
	else
		pthread_join(t, NULL);
	touch();
	if (sleep_work_x == 2)
		printf("two\n");
	if (broken)
		pthread_join(t, NULL);
	printf("done\n");
}

static int trylock_x;
BODY(trylock_body)
{
	for (int i = 0; i < 3; i++) {
		int held = 1;

		if (bad)
			held = pthread_mutex_trylock(&other) == 0;
		else
			pthread_mutex_lock(&other);
		trylock_x++;
		if (held)
			pthread_mutex_unlock(&other);
	}
	return arg;
}
PAIR(trylock, "pthread_mutex_trylock fails, the work is done all the same")
{ bad = broken; both(trylock_body, trylock_body); printf("%d\n", broken ? 0 : trylock_x); }

static int trylock_once_x;
BODY(trylock_once_a)
{
	spend(300);
	pthread_mutex_lock(&other);
	trylock_once_x++;
	pthread_mutex_unlock(&other);
	return arg;
}
BODY(trylock_once_b)
{
	int held = 1;

	spend(600);
	if (bad)
		held = pthread_mutex_trylock(&other) == 0;
	else
		pthread_mutex_lock(&other);
	trylock_once_x++;
	if (held)
		pthread_mutex_unlock(&other);
	return arg;
}
PAIR(trylock_once, "a trylock that meets the only critical section of another thread")
{ bad = broken; both(trylock_once_a, trylock_once_b); printf("%d\n", broken ? 0 : trylock_once_x); }

static int trylock_unowned_x;
BODY(trylock_unowned_body)
{
	for (int i = 0; i < 3; i++) {
		if (pthread_mutex_trylock(&other) == 0) {
			trylock_unowned_x++;
			pthread_mutex_unlock(&other);
		} else if (bad && trylock_unowned_x == 50) {
			printf("fifty\n");
		}
	}
	return arg;
}
PAIR(trylock_unowned, "the path of a failed trylock looks at what the lock guards")
{ bad = broken; both(trylock_unowned_body, trylock_unowned_body); printf("%d\n", 0); }

static int rwtry_x;
static pthread_rwlock_t rwtry_lock = PTHREAD_RWLOCK_INITIALIZER;
BODY(rwtry_body)
{
	for (int i = 0; i < 3; i++) {
		int held = 1;

		if (bad)
			held = pthread_rwlock_trywrlock(&rwtry_lock) == 0;
		else
			pthread_rwlock_wrlock(&rwtry_lock);
		rwtry_x++;
		if (held)
			pthread_rwlock_unlock(&rwtry_lock);
	}
	return arg;
}
PAIR(rwtry, "pthread_rwlock_trywrlock fails, the work is done all the same")
{ bad = broken; both(rwtry_body, rwtry_body); printf("%d\n", broken ? 0 : rwtry_x); }

/* A ring of four slots. The broken one lets the producer lap the consumer. */
static int ring_x[4];
static sem_t ring_free, ring_full;
BODY(ring_producer)
{
	for (int i = 0; i < 12; i++) {
		sem_wait(&ring_free);
		ring_x[i % 4] = i;
		sem_post(&ring_full);
	}
	return arg;
}
BODY(ring_consumer)
{
	for (int i = 0; i < 12; i++) {
		sem_wait(&ring_full);
		if (ring_x[i % 4] == 50)
			printf("fifty\n");
		sem_post(&ring_free);
	}
	return arg;
}
PAIR(ring, "a ring buffer with a place more than it has slots")
{
	sem_init(&ring_free, 0, broken ? 5 : 4);
	sem_init(&ring_full, 0, 0);
	both(ring_producer, ring_consumer);
	printf("done\n");
}

static int ring_lock_x[8], ring_lock_in, ring_lock_out;
BODY(ring_lock_producer)
{
	for (int i = 0; i < 16;) {
		pthread_mutex_lock(&other);
		int room = ring_lock_in - ring_lock_out < (bad ? 9 : 8);
		pthread_mutex_unlock(&other);
		if (!room) {
			sched_yield();
			continue;
		}
		ring_lock_x[i % 8] = i;
		i++;
		pthread_mutex_lock(&other);
		ring_lock_in++;
		pthread_mutex_unlock(&other);
	}
	return arg;
}
BODY(ring_lock_consumer)
{
	for (int i = 0; i < 16;) {
		pthread_mutex_lock(&other);
		int some = ring_lock_in > ring_lock_out;
		pthread_mutex_unlock(&other);
		if (!some) {
			sched_yield();
			continue;
		}
		if (ring_lock_x[i % 8] == 50)
			printf("fifty\n");
		i++;
		pthread_mutex_lock(&other);
		ring_lock_out++;
		pthread_mutex_unlock(&other);
	}
	return arg;
}
PAIR(ring_lock, "a ring buffer under a lock, full tested with <= for <")
{ bad = broken; both(ring_lock_producer, ring_lock_consumer); printf("done\n"); }

static int empty_x;
static int empty_count;
BODY(empty_producer)
{
	pthread_mutex_lock(&other);
	if (bad)
		empty_count = 1;
	pthread_mutex_unlock(&other);
	empty_x = 7;
	pthread_mutex_lock(&other);
	empty_count = 1;
	pthread_mutex_unlock(&other);
	return arg;
}
BODY(empty_consumer)
{
	pthread_mutex_lock(&other);
	int some = empty_count;
	pthread_mutex_unlock(&other);
	if (some && empty_x == 8)
		printf("eight\n");
	return arg;
}
PAIR(empty, "the count is raised before the item is there")
{ bad = broken; both(empty_producer, empty_consumer); printf("done\n"); }

static int signal_x, signal_set;
static pthread_cond_t signal_cond = PTHREAD_COND_INITIALIZER;
BODY(signal_waiter)
{
	pthread_mutex_lock(&other);
	if (bad) {
		if (!signal_set) {
			struct timespec soon = {946684801, 0};
			pthread_cond_timedwait(&signal_cond, &other, &soon);
		}
	} else {
		while (!signal_set)
			pthread_cond_wait(&signal_cond, &other);
	}
	int set = signal_set;
	pthread_mutex_unlock(&other);
	if (signal_x == 8 && set)
		printf("eight\n");
	return arg;
}
BODY(signal_sender)
{
	if (bad) {
		pthread_mutex_lock(&other);
		pthread_cond_signal(&signal_cond);
		pthread_mutex_unlock(&other);
	}
	signal_x = 7;
	pthread_mutex_lock(&other);
	signal_set = 1;
	pthread_cond_signal(&signal_cond);
	pthread_mutex_unlock(&other);
	return arg;
}
PAIR(signal, "a wait that does not look again why it woke")
{ bad = broken; both(signal_waiter, signal_sender); printf("done\n"); }

static int gate_x, gate_count;
BODY(gate_body)
{
	pthread_mutex_lock(&other);
	int first = gate_count == 0;
	if (!bad)
		gate_count = 1;
	pthread_mutex_unlock(&other);
	spend(5);
	if (first)
		gate_x++;
	pthread_mutex_lock(&other);
	gate_count = 1;
	pthread_mutex_unlock(&other);
	return arg;
}
PAIR(gate, "a check and its act in two critical sections")
{ bad = broken; both(gate_body, gate_body); printf("%d\n", broken ? 0 : gate_x); }

static int gate_wide_x, gate_wide_count;
BODY(gate_wide_body)
{
	if (arg)
		spend(2000);
	pthread_mutex_lock(&other);
	int first = gate_wide_count == 0;
	if (!bad)
		gate_wide_count = 1;
	pthread_mutex_unlock(&other);
	spend(200);
	if (first)
		gate_wide_x++;
	pthread_mutex_lock(&other);
	gate_wide_count = 1;
	pthread_mutex_unlock(&other);
	return arg;
}
PAIR(gate_wide, "the same, where the second thread comes later")
{ bad = broken; both(gate_wide_body, gate_wide_body); printf("%d\n", broken ? 0 : gate_wide_x); }

static int semgate_x;
static sem_t semgate;
BODY(semgate_body)
{
	sem_wait(&semgate);
	semgate_x++;
	sem_post(&semgate);
	return arg;
}
PAIR(semgate, "a semaphore used as a lock that lets two in")
{
	sem_init(&semgate, 0, broken ? 2 : 1);
	both(semgate_body, semgate_body);
	printf("%d\n", broken ? 0 : semgate_x);
}

static int readers_x;
static pthread_rwlock_t readers_lock = PTHREAD_RWLOCK_INITIALIZER;
BODY(readers_body)
{
	pthread_rwlock_wrlock(&readers_lock);
	spend(3);
	pthread_rwlock_unlock(&readers_lock);
	if (bad)
		pthread_rwlock_rdlock(&readers_lock);
	else
		pthread_rwlock_wrlock(&readers_lock);
	readers_x++;
	pthread_rwlock_unlock(&readers_lock);
	pthread_rwlock_wrlock(&readers_lock);
	spend(3);
	pthread_rwlock_unlock(&readers_lock);
	return arg;
}
PAIR(readers, "a write under a lock for reading, between locks for writing")
{ bad = broken; both(readers_body, readers_body); printf("%d\n", broken ? 0 : readers_x); }

static int stop_x;
static atomic_int stop_flag;
BODY(stop_worker)
{
	for (int i = 0; i < 200 && !atomic_load(&stop_flag); i++) {
		pthread_mutex_lock(&other);
		stop_x++;
		pthread_mutex_unlock(&other);
		spend(20);
	}
	return arg;
}
PAIR(stop, "what a worker counted is read when it was told to stop")
{
	pthread_t t;

	atomic_store(&stop_flag, 0);
	pthread_create(&t, NULL, stop_worker, NULL);
	spend(2000);
	atomic_store(&stop_flag, 1);
	if (!broken)
		pthread_join(t, NULL);
	pthread_mutex_lock(&other);
	spend(1);
	pthread_mutex_unlock(&other);
	if (stop_x == 1000)
		printf("thousand\n");
	if (broken)
		pthread_join(t, NULL);
	printf("done\n");
}

static int barrier_x;
static pthread_barrier_t barrier_of;
BODY(barrier_body)
{
	if (!arg)
		barrier_x++;
	pthread_barrier_wait(&barrier_of);
	if (arg && barrier_x == 5)
		printf("five\n");
	return NULL;
}
static void *barrier_others(void *arg)
{
	spend(100);
	pthread_barrier_wait(&barrier_of);
	return arg;
}
PAIR(barrier, "a barrier for two that four threads use")
{
	pthread_t t[2];

	bad = broken;
	pthread_barrier_init(&barrier_of, NULL, broken ? 2 : 4);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, barrier_others, NULL);
	both(barrier_body, barrier_body);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("done\n");
}
