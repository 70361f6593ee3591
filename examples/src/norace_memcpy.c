/*
 * norace_memcpy: the packet is copied under the lock that it is written under.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char packet[64];
size_t length = 48;

static void *receive(void *arg)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < length; i++)
		packet[i] = 'x';
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *forward(void *arg)
{
	pthread_mutex_lock(&lock);
	memcpy(arg, packet, length);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	static char copy[64];

	pthread_create(&a, NULL, receive, NULL);
	pthread_create(&b, NULL, forward, copy);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("packet %s\n", packet);
	return 0;
}
