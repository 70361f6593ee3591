/*
 * norace_cond_flag: the flag of a condition variable is set under its lock.
 *
 * The setter's write cannot fall between the waiter's check and its wait.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int done;

static void *setter(void *arg)
{
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!done)
		pthread_cond_wait(&changed, &lock);
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
