/*
 * double_checked: double-checked initialisation with a plain flag.
 *
 * repair 1: done
 * may: order: table by done
 */
#include "repair.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
SHARED_1 int done;
int table;

static int get(void)
{
	if (!done) {
		pthread_mutex_lock(&lock);
		if (!done) {
			table = 42;
			done = 1;
		}
		pthread_mutex_unlock(&lock);
	}
	return table;
}

static void *user(void *arg)
{
	for (int i = 0; i < 20; i++) {
		if (get() != 42)
			printf("early\n");
		sched_yield();
	}
	return arg;
}

int main(void) { run_two(user, user); }
