/*
 * fig7: figure 7 of the parallel-trace paper (PPoPP 2003), an artifact race.
 *
 * The accesses to Subscript race. Those to A[1] race too, but only when
 * thread 2 happened to read 1 from Subscript: which element it reads depends
 * on the first race, so the second is its artifact.
 */
#include <pthread.h>
#include <stdio.h>

int Subscript;
int A[2] = {7, 8};

static void *thread1(void *arg)
{
	Subscript = 1; /* race: Subscript */
	A[1] = 0;      /* may artifact: A */
	return arg;
}

static void *thread2(void *arg)
{
	int x = Subscript; /* race: Subscript */
	int y = A[x];      /* may artifact: A */
	int *result = arg;
	result[0] = x;
	result[1] = y;
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int result[2];

	pthread_create(&a, NULL, thread1, NULL);
	pthread_create(&b, NULL, thread2, result);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	int x = result[0], y = result[1];
	printf("x is 0 or 1: %s, y is 0, 7 or 8: %s\n", x == 0 || x == 1 ? "yes" : "no",
	       y == 0 || y == 7 || y == 8 ? "yes" : "no");
	return 0;
}
