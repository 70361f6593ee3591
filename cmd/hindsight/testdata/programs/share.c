/* A loop whose only dependence is between iterations 4 and 5: with few threads
   both are of one thread's share. */
#include <stdio.h>

int a[16];

int main(void)
{
#pragma omp parallel for
	for (int i = 0; i < 16; i++)
		a[i] = i == 5 ? a[4] : i;
	printf("%d\n", a[3]);
	return 0;
}
