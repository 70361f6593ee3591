/*
 * norace_spin_lock: a home-made spin lock of an atomic_flag.
 *
 * Test and set are one step, with acquire; clearing has release.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_flag locked = ATOMIC_FLAG_INIT;
int counter;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&locked, memory_order_release);
}

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		lock();
		counter++;
		unlock();
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("counter %d of 20\n", counter);
	return 0;
}
