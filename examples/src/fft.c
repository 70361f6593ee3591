/*
 * fft: a one-dimensional complex FFT of 2^m points on p threads.
 *
 *	fft [-p THREADS] [-m LOG2_POINTS] [-x]
 *
 * The six-step method: the points are a square matrix; transpose it, transform
 * each row, multiply by the twiddle factors, transpose, transform each row,
 * transpose. Every thread owns a band of rows. Only the transpositions move
 * data between threads, and a barrier stands on both sides of each.
 *
 * Checked: some bins against the defining sum, and the inverse transform
 * against the input. -x leaves the check out, for measurements.
 */
#include <math.h>

#include "kernel.h"

typedef struct {
	double re, im;
} complex_t;

static int log2_points = 8;
static int points, side;
static complex_t *input, *data, *scratch;
static complex_t *root; /* root[k] = exp(-2 pi i k / points) */
static int inverse;

static inline complex_t mul(complex_t a, complex_t b)
{
	complex_t c = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
	return c;
}

/* unity is exp(-2 pi i k / points), or its conjugate for the inverse. */
static inline complex_t unity(int k)
{
	complex_t w = root[k];
	if (inverse)
		w.im = -w.im;
	return w;
}

/* transpose writes the rows [from, to) of the transposed matrix. */
static void transpose(const complex_t *a, complex_t *b, int from, int to)
{
	for (int i = from; i < to; i++)
		for (int j = 0; j < side; j++)
			b[i * side + j] = a[j * side + i];
}

/* transform_row is an in-place radix-2 FFT of one row. */
static void transform_row(complex_t *row)
{
	for (int i = 1, j = 0; i < side; i++) {
		int bit = side >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j) {
			complex_t t = row[i];
			row[i] = row[j];
			row[j] = t;
		}
	}
	for (int half = 1; half < side; half *= 2) {
		int step = points / (2 * half);
		for (int base = 0; base < side; base += 2 * half) {
			for (int k = 0; k < half; k++) {
				complex_t *a = &row[base + k], *b = a + half;
				complex_t t = mul(unity(k * step), *b);
				b->re = a->re - t.re;
				b->im = a->im - t.im;
				a->re += t.re;
				a->im += t.im;
			}
		}
	}
}

static void twiddle_row(complex_t *row, int i)
{
	for (int j = 0; j < side; j++)
		row[j] = mul(row[j], unity(i * j % points));
}

static void *transform(void *arg)
{
	int from, to;

	part(*(int *)arg, side, &from, &to);
	transpose(data, scratch, from, to);
	wait_all();
	for (int i = from; i < to; i++) {
		transform_row(&scratch[i * side]);
		twiddle_row(&scratch[i * side], i);
	}
	wait_all();
	transpose(scratch, data, from, to);
	wait_all();
	for (int i = from; i < to; i++)
		transform_row(&data[i * side]);
	wait_all();
	transpose(data, scratch, from, to);
	wait_all();
	for (int i = from * side; i < to * side; i++) {
		data[i] = scratch[i];
		if (inverse) {
			data[i].re /= points;
			data[i].im /= points;
		}
	}
	return NULL;
}

static void fill(void)
{
	unsigned x = 1;

	for (int i = 0; i < points; i++) {
		double angle = -2 * M_PI * i / points;
		root[i].re = cos(angle);
		root[i].im = sin(angle);
		x = x * 1103515245u + 12345u;
		input[i].re = (x >> 16 & 0x7fff) / 32768.0 - 0.5;
		x = x * 1103515245u + 12345u;
		input[i].im = (x >> 16 & 0x7fff) / 32768.0 - 0.5;
		data[i] = input[i];
	}
}

/* bin_error compares one bin with the sum that defines it. */
static double bin_error(int k)
{
	complex_t sum = {0, 0};

	for (int j = 0; j < points; j++) {
		complex_t t = mul(input[j], root[(long)j * k % points]);
		sum.re += t.re;
		sum.im += t.im;
	}
	return fabs(sum.re - data[k].re) + fabs(sum.im - data[k].im);
}

static double check(void)
{
	double worst = 0;

	for (int n = 0; n < 4; n++)
		worst = fmax(worst, bin_error((int)((long)n * 7919 % points)));
	inverse = 1;
	run_team(transform);
	for (int i = 0; i < points; i++)
		worst = fmax(worst, fabs(data[i].re - input[i].re) + fabs(data[i].im - input[i].im));
	return worst;
}

int main(int argc, char **argv)
{
	int unchecked = 0;

	for (int c; (c = getopt(argc, argv, "p:m:x")) != -1;) {
		switch (c) {
		case 'p': threads = number(optarg, 1, MAX_THREADS); break;
		case 'm': log2_points = number(optarg, 2, 20); break;
		case 'x': unchecked = 1; break;
		default: fail("usage: fft [-p THREADS] [-m LOG2_POINTS] [-x]");
		}
	}
	if (log2_points % 2)
		fail("fft: -m must be even: the points form a square");
	points = 1 << log2_points;
	side = 1 << log2_points / 2;
	input = allocate(points, sizeof *input);
	data = allocate(points, sizeof *data);
	scratch = allocate(points, sizeof *scratch);
	root = allocate(points, sizeof *root);
	fill();
	run_team(transform);
	int ok = unchecked || check() < 1e-8;
	printf("fft: %d points: %s\n", points, unchecked ? "done" : ok ? "PASS" : "FAIL");
	return !ok;
}
