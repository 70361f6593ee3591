/*
 * omp_source.c: accesses of which neither the code nor the debug information
 * tells whether the source has them atomic; its text does. Flags: -fopenmp
 */
#include <omp.h>
#include <sched.h>
#include "pair.h"

static char byte_flag_x[2];
PAIR(byte_flag, "atomic read and write of a char; plain ones of another")
{
	int seen = 0;
#pragma omp parallel num_threads(2) reduction(+:seen)
	if (omp_get_thread_num() == 0) {
		if (broken)
			byte_flag_x[1] = 2;
#pragma omp atomic write
		byte_flag_x[0] = 1;
	} else {
		char mine;
#pragma omp atomic read
		mine = byte_flag_x[0];
		if (broken)
			mine += byte_flag_x[1];
		seen += mine > 3;
	}
	printf("%d\n", seen);
}

static int count_read_x;
PAIR(count_read, "atomic update, then an atomic read and a plain one")
{
	int last = 0;
#pragma omp parallel num_threads(3) reduction(max:last)
	for (int i = 0; i < 5; i++) {
		int now;
#pragma omp atomic
		count_read_x++;
#pragma omp atomic read
		now = count_read_x;
		if (broken)
			now += count_read_x;
		last = now > last ? now : last;
	}
	printf("%d\n", broken ? 0 : last);
}

static int builtin_read_x;
PAIR(builtin_read, "__sync_fetch_and_add; __atomic_load_n, and a plain read")
{
	int last = 0;
#pragma omp parallel num_threads(3) reduction(max:last)
	for (int i = 0; i < 5; i++) {
		__sync_fetch_and_add(&builtin_read_x, 1);
		last = __atomic_load_n(&builtin_read_x,
		                       __ATOMIC_RELAXED);
		if (broken)
			last += builtin_read_x;
	}
	printf("%d\n", broken ? 0 : last);
}

static double sums[3];
PAIR(stack, "reductions into local variables, nowait")
{
	double sum = 0;
	int count = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp for reduction(+:sum) reduction(max:count) nowait
		for (int i = 0; i < 12; i++) {
			sum += i;
			count = i > count ? i : count;
		}
		if (!broken) {
#pragma omp barrier
		}
		sums[omp_get_thread_num()] = sum + count;
	}
	printf("%g\n", broken ? 0 : sums[0] + sums[1] + sums[2]);
}

static long ring_x[4];
static unsigned ring_w, ring_r;
PAIR(ring, "a ring of relaxed atomics and full fences, one next to a plain load")
{
	long total = 0;
#pragma omp parallel num_threads(2)
	for (unsigned i = 0; i < 12; i++)
		if (omp_get_thread_num() == 0) {
			while (i - __atomic_load_n(&ring_r, __ATOMIC_RELAXED) >= 4)
				sched_yield();
			__sync_synchronize();
			ring_x[i % 4] = i;
			if (!broken)
				__sync_synchronize();
			__atomic_store_n(&ring_w, i + 1, __ATOMIC_RELAXED);
		} else if (omp_get_num_threads() == 2) {
			while (__atomic_load_n(&ring_w, __ATOMIC_RELAXED) == i)
				sched_yield();
			__sync_synchronize();
			total += ring_x[i % 4];
			__sync_synchronize();
			__atomic_store_n(&ring_r, i + 1, __ATOMIC_RELAXED);
		}
	printf("%ld\n", broken ? 0 : total);
}

static int simd_empty_x[4];
static int simd_empty_most;
PAIR(simd_empty, "parallel for simd without an iteration")
{
	int i;
	simd_empty_most = broken ? 4 : 0;
#pragma omp parallel for simd num_threads(3)
	for (i = 0; i < simd_empty_most; i++)
		simd_empty_x[broken ? 0 : i]++;
	printf("%d\n", broken ? 0 : simd_empty_x[0]);
}
