#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#define W 400
static unsigned char img[W][W];
static long hist[256];
static long most;
int main(int c, char **v)
{
	int it = c > 1 ? atoi(v[1]) : 60;
	double sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum) num_threads(4)
	for (int y = 0; y < W; y++)
		for (int x = 0; x < W; x++) {
			double cr = x * 3.0 / W - 2, ci = y * 2.0 / W - 1, zr = 0, zi = 0;
			int k = 0;
			while (k < it && zr * zr + zi * zi < 4) {
				double t = zr * zr - zi * zi + cr;
				zi = 2 * zr * zi + ci;
				zr = t;
				k++;
			}
			img[y][x] = k;
			sum += k;
#pragma omp critical
			{
				hist[k & 255]++;
				if (k > most)
					most = k;
			}
		}
#pragma omp parallel for schedule(guided) num_threads(4)
	for (int i = 0; i < W * W; i++) {
#pragma omp atomic
		hist[img[i / W][i % W]]++;
	}
	printf("%g %ld\n", sum, most);
}
