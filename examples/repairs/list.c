/*
 * list: the head of a list publishes its nodes.
 *
 * repair 1: head
 * order: heap by head
 */
#include "repair.h"

struct node {
	struct node *next;
	int value;
};

struct node *SHARED_1 head;

static void *builder(void *arg)
{
	struct node *list = NULL;

	for (int i = 0; i < 5; i++) {
		struct node *n = malloc(sizeof *n);
		n->value = i;
		n->next = list;
		list = n;
	}
	head = list;
	return arg;
}

static void *summer(void *arg)
{
	int sum = 0;

	wait_for(head);
	for (struct node *n = head; n; n = n->next)
		sum += n->value;
	printf("%d\n", sum);
	return arg;
}

int main(void) { run_two(builder, summer); }
