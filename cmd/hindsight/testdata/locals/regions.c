/* Locals that are shared in OpenMP regions. */
#include <stdio.h>

int main(void)
{
	long sum = 0;
	double grid[16] = {0};
	struct {
		int a;
		struct {
			int hits, misses;
		} part[3];
	} all = {0};

#pragma omp parallel for shared(sum, grid, all) num_threads(3)
	for (int i = 0; i < 64; i++) {
		sum += i;
		grid[i % 16] += 1;
		all.part[i % 3].hits++;
	}
	printf("%ld %g %d\n", sum, grid[3], all.part[1].hits);
	return 0;
}
