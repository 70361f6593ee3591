/*
 * norace_list: two threads push onto one linked list, one at a time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct node *head;

static void *push(void *arg)
{
	for (int i = 0; i < 5; i++) {
		struct node *n = malloc(sizeof *n);
		pthread_mutex_lock(&lock);
		n->next = head;
		head = n;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;
	int length = 0;

	pthread_create(&a, NULL, push, NULL);
	pthread_create(&b, NULL, push, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	for (struct node *n = head; n; n = n->next)
		length++;
	printf("length %d of 10\n", length);
	return 0;
}
