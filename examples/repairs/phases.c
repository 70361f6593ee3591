/*
 * phases: a home-made barrier: threads count up under a lock, and wait without.
 *
 * repair 1: arrived
 * order: part by arrived
 */
#include "repair.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
SHARED_1 int arrived;
int part[2];

static void barrier(void)
{
	pthread_mutex_lock(&lock);
	arrived++;
	pthread_mutex_unlock(&lock);
	wait_for(arrived == 2);
}

static void *even(void *arg)
{
	part[0] = 1;
	barrier();
	printf("%d\n", part[1]);
	return arg;
}

static void *odd(void *arg)
{
	part[1] = 2;
	barrier();
	printf("%d\n", part[0]);
	return arg;
}

int main(void) { run_two(even, odd); }
