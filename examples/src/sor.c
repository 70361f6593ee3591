/*
 * sor: red-black successive over-relaxation on a square grid, p threads.
 *
 *	sor [-p THREADS] [-n SIZE] [-i ITERATIONS] [-x]
 *
 * Each thread owns a band of rows. A half-iteration updates the points of one
 * colour from neighbours of the other, so that only the rows at the edge of a
 * band are shared; a barrier stands behind each half-iteration.
 *
 * Checked: bit for bit against the same iterations by one thread, since every
 * point's value is independent of the order within a colour. -x leaves the
 * check out, for measurements.
 */
#include "kernel.h"

static int size = 24, iterations = 10;
static int width; /* of a row with its two border points */
static double *grid;

static const double omega = 1.5;

static void relax(double *g, int from, int to, int colour)
{
	for (int i = from; i < to; i++) {
		for (int j = 1 + (i + colour) % 2; j <= size; j += 2) {
			double *p = &g[i * width + j];
			double mean = (p[-width] + p[width] + p[-1] + p[1]) / 4;
			*p += omega * (mean - *p);
		}
	}
}

static void *iterate(void *arg)
{
	int from, to;

	part(*(int *)arg, size, &from, &to);
	for (int n = 0; n < iterations; n++) {
		for (int colour = 0; colour < 2; colour++) {
			relax(grid, from + 1, to + 1, colour);
			wait_all();
		}
	}
	return NULL;
}

/* new_grid is a plate with one hot edge. */
static double *new_grid(void)
{
	double *g = allocate((size_t)width * width, sizeof *g);

	for (int j = 0; j < width; j++)
		g[j] = 100;
	return g;
}

static int check(void)
{
	double *expected = new_grid();

	for (int n = 0; n < iterations; n++)
		for (int colour = 0; colour < 2; colour++)
			relax(expected, 1, size + 1, colour);
	int same = memcmp(grid, expected, sizeof *grid * width * width) == 0;
	free(expected);
	return same;
}

int main(int argc, char **argv)
{
	int unchecked = 0;

	for (int c; (c = getopt(argc, argv, "p:n:i:x")) != -1;) {
		switch (c) {
		case 'p': threads = number(optarg, 1, MAX_THREADS); break;
		case 'n': size = number(optarg, 1, 4096); break;
		case 'i': iterations = number(optarg, 0, 100000); break;
		case 'x': unchecked = 1; break;
		default: fail("usage: sor [-p THREADS] [-n SIZE] [-i ITERATIONS] [-x]");
		}
	}
	width = size + 2;
	grid = new_grid();
	run_team(iterate);
	int ok = unchecked || check();
	printf("sor: %d by %d, %d iterations: %s\n", size, size, iterations, unchecked ? "done" : ok ? "PASS" : "FAIL");
	return !ok;
}
