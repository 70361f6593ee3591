#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void merge(int *a, int *b, int l, int m, int r)
{
	int i = l, j = m, k = l;
	while (i < m && j < r)
		b[k++] = a[i] <= a[j] ? a[i++] : a[j++];
	while (i < m)
		b[k++] = a[i++];
	while (j < r)
		b[k++] = a[j++];
	memcpy(a + l, b + l, (r - l) * sizeof *a);
}
static int cut = 64;
static void sort(int *a, int *b, int l, int r)
{
	if (r - l < 2)
		return;
	if (r - l <= cut) {
		for (int i = l + 1; i < r; i++) {
			int x = a[i], j = i;
			while (j > l && a[j - 1] > x) {
				a[j] = a[j - 1];
				j--;
			}
			a[j] = x;
		}
		return;
	}
	int m = (l + r) / 2;
#pragma omp task
	sort(a, b, l, m);
#pragma omp task
	sort(a, b, m, r);
#pragma omp taskwait
	merge(a, b, l, m, r);
}
int main(int c, char **v)
{
	int n = c > 1 ? atoi(v[1]) : 300000;
	if (c > 2)
		cut = atoi(v[2]);
	int *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
	unsigned x = 1;
	for (int i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		a[i] = x >> 8;
	}
#pragma omp parallel num_threads(4)
#pragma omp single
	sort(a, b, 0, n);
	for (int i = 1; i < n; i++)
		if (a[i - 1] > a[i]) {
			puts("bad");
			return 1;
		}
	puts("sorted");
}
