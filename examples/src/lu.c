/*
 * lu: blocked dense LU factorisation without pivoting on p threads.
 *
 *	lu [-p THREADS] [-n SIZE] [-x]
 *
 * The matrix is cut into blocks of 16 by 16, each contiguous in memory, dealt
 * out to a grid of threads (2-D scatter). Step k factors the diagonal block,
 * then the blocks right of it and below it, then updates the rest. Each stage
 * reads what other threads wrote in the stage before it, so a barrier must
 * stand between them.
 *
 * Built with -DDROP_BARRIER (lu_nobarrier) the barrier behind the second stage
 * is missing: the update reads perimeter blocks that their owners may still be
 * writing. The marked lines race then.
 *
 * Checked: L times U times a vector against the matrix times that vector.
 * -x leaves the check out, for measurements.
 */
#include <math.h>

#include "kernel.h"

#define BLOCK 16

typedef double block_t[BLOCK][BLOCK];

static int size = 64;
static int blocks;             /* blocks in a row */
static int grid_rows, grid_cols; /* threads in the grid */
static block_t *matrix, *original;

static inline block_t *at(int i, int j)
{
	return &matrix[i * blocks + j];
}

static inline int owner(int i, int j)
{
	return i % grid_rows * grid_cols + j % grid_cols;
}

/* factor turns a into its own L (unit diagonal) and U. */
static void factor(block_t *a)
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			(*a)[i][k] /= (*a)[k][k];
			double l = (*a)[i][k];
			for (int j = k + 1; j < BLOCK; j++)
				(*a)[i][j] -= l * (*a)[k][j];
		}
	}
}

/* solve_right makes a into L^-1 a, for a block right of the diagonal. */
static void solve_right(block_t *a, block_t *diagonal)
{
	for (int k = 0; k < BLOCK; k++) {
		for (int i = k + 1; i < BLOCK; i++) {
			double l = (*diagonal)[i][k];
			for (int j = 0; j < BLOCK; j++)
				(*a)[i][j] -= l * (*a)[k][j]; /* race: heap matrix */
		}
	}
}

/* solve_below makes a into a U^-1, for a block below the diagonal. */
static void solve_below(block_t *a, block_t *diagonal)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			(*a)[i][k] /= (*diagonal)[k][k]; /* race: heap matrix */
			double l = (*a)[i][k]; /* may race: heap matrix */
			for (int j = k + 1; j < BLOCK; j++)
				(*a)[i][j] -= l * (*diagonal)[k][j]; /* race: heap matrix */
		}
	}
}

/* update subtracts l times u from a. */
static void update(block_t *a, block_t *l, block_t *u)
{
	for (int i = 0; i < BLOCK; i++) {
		for (int k = 0; k < BLOCK; k++) {
			double f = (*l)[i][k]; /* race: heap matrix */
			for (int j = 0; j < BLOCK; j++)
				(*a)[i][j] -= f * (*u)[k][j]; /* race: heap matrix */
		}
	}
}

static void *decompose(void *arg)
{
	int self = *(int *)arg;

	for (int k = 0; k < blocks; k++) {
		if (owner(k, k) == self)
			factor(at(k, k));
		wait_all();
		for (int i = k + 1; i < blocks; i++) {
			if (owner(i, k) == self)
				solve_below(at(i, k), at(k, k));
			if (owner(k, i) == self)
				solve_right(at(k, i), at(k, k));
		}
#ifndef DROP_BARRIER
		wait_all();
#endif
		for (int i = k + 1; i < blocks; i++)
			for (int j = k + 1; j < blocks; j++)
				if (owner(i, j) == self)
					update(at(i, j), at(i, k), at(k, j));
	}
	return NULL;
}

static void fill(void)
{
	unsigned x = 1;

	for (int b = 0; b < blocks * blocks; b++)
		for (int i = 0; i < BLOCK; i++)
			for (int j = 0; j < BLOCK; j++) {
				x = x * 1103515245u + 12345u;
				matrix[b][i][j] = (x >> 16 & 0x7fff) / 32768.0;
				if (b / blocks == b % blocks && i == j)
					matrix[b][i][j] += size; /* keeps the pivots large */
			}
	memcpy(original, matrix, sizeof(block_t) * blocks * blocks);
}

static inline double element(block_t *m, int i, int j)
{
	return m[i / BLOCK * blocks + j / BLOCK][i % BLOCK][j % BLOCK];
}

/* check gives the largest error of L(Ux) against Ax, for a known x. */
static double check(void)
{
	double *ux = allocate(size, sizeof *ux);
	double worst = 0;

	for (int i = 0; i < size; i++)
		for (int j = i; j < size; j++)
			ux[i] += element(matrix, i, j) * (j % 7 - 3);
	for (int i = 0; i < size; i++) {
		double lux = ux[i], ax = 0;
		for (int j = 0; j < i; j++)
			lux += element(matrix, i, j) * ux[j];
		for (int j = 0; j < size; j++)
			ax += element(original, i, j) * (j % 7 - 3);
		worst = fmax(worst, fabs(lux - ax));
	}
	free(ux);
	return worst / size;
}

int main(int argc, char **argv)
{
	int unchecked = 0;

	for (int c; (c = getopt(argc, argv, "p:n:x")) != -1;) {
		switch (c) {
		case 'p': threads = number(optarg, 1, MAX_THREADS); break;
		case 'n': size = number(optarg, BLOCK, 4096); break;
		case 'x': unchecked = 1; break;
		default: fail("usage: lu [-p THREADS] [-n SIZE] [-x]");
		}
	}
	if (size % BLOCK)
		fail("lu: -n must be a multiple of 16");
	blocks = size / BLOCK;
	grid_rows = 1;
	while (grid_rows * grid_rows * 4 <= threads)
		grid_rows *= 2;
	while (threads % grid_rows)
		grid_rows--;
	grid_cols = threads / grid_rows;
	matrix = allocate((size_t)blocks * blocks, sizeof *matrix);
	original = allocate((size_t)blocks * blocks, sizeof *original);
	fill();
	run_team(decompose);
	int ok = unchecked || check() < 1e-9;
	printf("lu: %d by %d: %s\n", size, size, unchecked ? "done" : ok ? "PASS" : "FAIL");
	return !ok;
}
