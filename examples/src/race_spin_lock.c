/*
 * race_spin_lock: a home-made spin lock of a plain int.
 *
 * Testing and setting are two steps, so two threads may get in; and nothing
 * orders what is done inside. The compiler may even leave out setting the lock,
 * as nobody can see it set without a race.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

int locked;
int counter;

static void lock(void)
{
	for (int i = 0; i < 1000 && locked; i++) /* race: locked */
		sched_yield();
	locked = 1; /* may race: locked */
}

static void unlock(void)
{
	locked = 0; /* race: locked */
}

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++) {
		lock();
		counter++; /* race: counter */
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
