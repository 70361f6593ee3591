/*
 * race_unlocked_read: writers lock, the one who only reads does not.
 *
 * A getter without the lock is the commonest race there is. The value may be
 * old, torn on other machines, or kept in a register for ever.
 */
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int temperature = 20;

static int get_temperature(void)
{
	return temperature; /* race: temperature */
}

static void *sensor(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		temperature++; /* race: temperature */
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *display(void *arg)
{
	*(int *)arg = get_temperature();
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int shown;

	pthread_create(&a, NULL, sensor, NULL);
	pthread_create(&b, NULL, display, &shown);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("from 20 to 40: %s\n", shown >= 20 && shown <= 40 ? "yes" : "no");
	return 0;
}
