/*
 * both_flags: a flag is handed on by a second flag: both have to be repaired.
 *
 * repair 1: first
 * repair 2: second
 * order: data by first + second
 */
#include "repair.h"

int data;
SHARED_1 volatile int first;
SHARED_2 volatile int second;

static void *writer(void *arg)
{
	data = 42;
	sched_yield();
	first = 1;
	return arg;
}

static void *relay(void *arg)
{
	wait_for(first);
	second = 1;
	return arg;
}

static void *reader(void *arg)
{
	wait_for(second);
	printf("%d\n", data);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, reader, NULL);
	run_two(writer, relay);
	pthread_join(t, NULL);
}
