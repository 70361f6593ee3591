// Multigrid for Poisson's equation on a square, with red-black relaxation; threads
// share rows. Usage: ocean SIDE CYCLES [THREADS], with a side of 2^k
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 16, levels = 12 };

static int side, cycles, threads;
static double *u[levels], *f[levels];
static pthread_barrier_t barrier;

static int smooth(int me, int l, int n, int times) {
	int lo = 1 + (n - 1) * me / threads, hi = 1 + (n - 1) * (me + 1) / threads, w = n + 1;
	double *v = u[l], *g = f[l], h2 = 1.0 / n / n;
	for (int k = 0; k < times; k++)
		for (int red = 0; red < 2; red++) {
			for (int i = lo; i < hi; i++)
				for (int j = 1 + (i + red) % 2; j < n; j += 2)
					v[i * w + j] = 0.25 * (v[(i - 1) * w + j] + v[(i + 1) * w + j] + v[i * w + j - 1] + v[i * w + j + 1] + h2 * g[i * w + j]);
			pthread_barrier_wait(&barrier);
		}
	return w;
}

static void cycle(int me, int l, int n) {
	int w = smooth(me, l, n, 2);
	if (n > 4) {
		int m = n / 2, lo = 1 + (m - 1) * me / threads, hi = 1 + (m - 1) * (me + 1) / threads;
		double *v = u[l], *g = f[l], n2 = (double)n * n;
		for (int i = lo; i < hi; i++)
			for (int j = 1; j < m; j++) {
				int at = 2 * i * w + 2 * j;
				f[l + 1][i * (m + 1) + j] = g[at] - n2 * (4 * v[at] - v[at - w] - v[at + w] - v[at - 1] - v[at + 1]);
				u[l + 1][i * (m + 1) + j] = 0;
			}
		pthread_barrier_wait(&barrier);
		cycle(me, l + 1, m);
		lo = n * me / threads, hi = n * (me + 1) / threads;
		for (int i = lo; i < hi; i++)
			for (int j = 0; j < n; j++) {
				double *c = &u[l + 1][i / 2 * (m + 1) + j / 2];
				double a = j % 2 ? (c[0] + c[1]) / 2 : c[0];
				double b = j % 2 ? (c[m + 1] + c[m + 2]) / 2 : c[m + 1];
				if (i > 0 && j > 0)
					v[i * w + j] += i % 2 ? (a + b) / 2 : a;
			}
		pthread_barrier_wait(&barrier);
	}
	smooth(me, l, n, n > 4 ? 2 : 20);
}

static void *work(void *arg) {
	for (int c = 0; c < cycles; c++)
		cycle((int)(intptr_t)arg, 0, side);
	return NULL;
}

int main(int argc, char **argv) {
	side = argc > 1 ? atoi(argv[1]) : 32;
	cycles = argc > 2 ? atoi(argv[2]) : 2;
	threads = argc > 3 ? atoi(argv[3]) : 4;
	for (int l = 0, n = side; n >= 4; l++, n /= 2) {
		u[l] = calloc((n + 1) * (n + 1), sizeof(double));
		f[l] = calloc((n + 1) * (n + 1), sizeof(double));
	}
	for (int i = 1; i < side; i++)
		for (int j = 1; j < side; j++)
			f[0][i * (side + 1) + j] = sin(i * 0.37) * cos(j * 0.21);
	pthread_barrier_init(&barrier, NULL, threads);
	pthread_t id[most];
	for (int t = 0; t < threads; t++)
		pthread_create(&id[t], NULL, work, (void *)(intptr_t)t);
	for (int t = 0; t < threads; t++)
		pthread_join(id[t], NULL);
	double sum = 0;
	for (int i = 0; i < (side + 1) * (side + 1); i++)
		sum += fabs(u[0][i]);
	printf("sum %.6f\n", sum);
	return 0;
}
