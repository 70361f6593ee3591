// Many small tasks: two for each call.
#include <stdio.h>
#include <stdlib.h>

static int fib(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

int main(int argc, char **argv)
{
	int r = 0, n = argc > 1 ? atoi(argv[1]) : 20;

#pragma omp parallel num_threads(8)
#pragma omp single
	r = fib(n);
	printf("%d\n", r);
}
