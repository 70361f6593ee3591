/*
 * race_cond_flag: the flag of a condition variable is set without the lock.
 *
 * The waiter does everything right, the setter takes no lock. Its write races
 * with the waiter's check, and when it falls between check and wait the signal
 * is lost: a real program then hangs; this one looks again after a while.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int done;

static void *setter(void *arg)
{
	done = 1; /* race: done */
	pthread_cond_signal(&changed);
	return arg;
}

static void *waiter(void *arg)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	while (!done) { /* race: done */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += until.tv_nsec >= 980000000;
		until.tv_nsec = (until.tv_nsec + 20000000) % 1000000000;
		pthread_cond_timedwait(&changed, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, waiter, NULL);
	pthread_create(&b, NULL, setter, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("done\n");
	return 0;
}
