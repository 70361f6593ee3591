/* OpenMP: the forms of teams, loops, reductions and atomic accesses. */
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include "pair.h"

enum { N = 24 };

static int nested_plain_x[2];
static int nested_plain_broken;
static void nested_plain(void)
{
	/* Global variables alone: no argument tells the regions apart. */
#pragma omp parallel num_threads(2)
	{
#pragma omp single
		nested_plain_x[nested_plain_broken ? 0 : omp_get_ancestor_thread_num(1)]++;
#pragma omp masked filter(1)
		nested_plain_x[nested_plain_broken ? 0 : omp_get_ancestor_thread_num(1)]++;
#pragma omp barrier
#pragma omp masked
		nested_plain_x[nested_plain_broken ? 0 : omp_get_ancestor_thread_num(1)]++;
	}
}
PAIR(nested_plain, "nested regions with one body, at the same time")
{
	nested_plain_broken = broken;
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 3; i++)
		nested_plain();
	printf("%d\n", broken ? 0 : nested_plain_x[0] + nested_plain_x[1]);
}

static int recursive_x[64];
static int recursive_broken;
static void recursive(int n, int at)
{
	if (n == 0) {
		recursive_x[recursive_broken ? 0 : at]++;
		return;
	}
#pragma omp parallel num_threads(2)
	{
		recursive(n - 1, 2 * at + omp_get_thread_num());
#pragma omp barrier
		recursive(n - 1, 2 * at + 1 - omp_get_thread_num());
	}
}
PAIR(recursive, "a region inside itself")
{
	int sum = 0;
	recursive_broken = broken;
	omp_set_max_active_levels(4);
	recursive(3, 1);
	for (int i = 0; i < 64; i++)
		sum += recursive_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int roots_x[2];
static void *roots(void *at)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp for
		for (int i = 0; i < 4; i++) {
#pragma omp critical(roots)
			*(int *)at += 1;
		}
#pragma omp single
		{
#pragma omp task firstprivate(at)
			*(int *)at += 1;
		}
	}
	*(int *)at += 1;
	return NULL;
}
PAIR(roots, "teams of several POSIX threads")
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, roots, &roots_x[broken ? 0 : i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", broken ? 0 : roots_x[0] + roots_x[1]);
}

static int resize_x[8];
PAIR(resize, "teams of other sizes, omp_set_num_threads, if, omp_pause_resource_all")
{
	int sum = 0;
	for (int n = 1; n < 6; n++) {
		omp_set_num_threads(n);
#pragma omp parallel if(n != 4)
		{
			resize_x[broken ? 0 : omp_get_thread_num()]++;
#pragma omp barrier
			if (omp_get_thread_num() == omp_get_num_threads() - 1)
				resize_x[7] += resize_x[0];
		}
		sum += resize_x[7];
		if (n == 3)
			omp_pause_resource_all(omp_pause_soft);
	}
	printf("%d\n", broken ? 0 : sum);
}

static int scope_x;
PAIR(scope, "scope, scope reduction, scope nowait")
{
	int sum = 0, seen = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp scope reduction(+:sum)
		sum += omp_get_thread_num() + 1;
		if (sum != 6)
			printf("%d\n", sum);
#pragma omp barrier
#pragma omp scope nowait
		{
			if (omp_get_thread_num() == 1)
				scope_x++;
		}
		if (!broken) {
#pragma omp barrier
		}
		if (omp_get_thread_num() == 2)
			scope_x++;
#pragma omp atomic
		seen++;
	}
	printf("%d %d\n", seen, broken ? 0 : scope_x);
}

static int sections_more_x[4];
PAIR(sections_more, "sections with lastprivate and reduction, nowait")
{
	int last = 0, sum = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp sections lastprivate(last) reduction(+:sum)
		{
#pragma omp section
			sum += sections_more_x[0] = 1;
#pragma omp section
			sum += last = 5;
		}
#pragma omp sections nowait
		{
#pragma omp section
			{
				sched_yield();
				sections_more_x[1] = last + sections_more_x[0];
			}
#pragma omp section
			sections_more_x[2] = 1;
		}
		if (!broken) {
#pragma omp barrier
		}
		if (sections_more_x[1] + sections_more_x[2] == 50)
			printf("fifty\n");
	}
	printf("%d\n", broken ? 0 : sections_more_x[1] + sum);
}

static int ordered_more_x;
PAIR(ordered_more, "ordered in static and guided loops; of some iterations only")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp for ordered schedule(static, 2)
		for (int i = 0; i < 12; i++) {
			if (broken && i % 2 == 0)
				ordered_more_x++;
#pragma omp ordered
			ordered_more_x = ordered_more_x * 3 + i;
		}
#pragma omp for ordered schedule(guided)
		for (int i = 0; i < 12; i++)
			if (i % 3 == 0) {
#pragma omp ordered threads
				ordered_more_x += i;
			}
	}
	printf("%d\n", broken ? 0 : ordered_more_x);
}

static int ordered_simd_x[N];
PAIR(ordered_simd, "ordered simd, ordered threads simd")
{
	int all = 0;
#pragma omp parallel for simd ordered num_threads(3)
	for (int i = 0; i < N; i++) {
		ordered_simd_x[broken ? i / 9 : i] = i;
#pragma omp ordered threads simd
		all = all * 3 + i;
	}
	for (int i = 0; i < N; i++)
		all += ordered_simd_x[i];
	printf("%d\n", broken ? 0 : all);
}

static int wavefront_x[8][8];
PAIR(wavefront, "doacross: downwards, unsigned long long, in three dimensions; loops one after another")
{
	int broken_at = broken ? 4 : -1;
#pragma omp parallel num_threads(3)
	{
#pragma omp for ordered(1) schedule(dynamic) nowait
		for (int i = 7; i >= 1; i--) {
#pragma omp ordered depend(sink: i + 1)
			if (i < 7)
				wavefront_x[0][i] = wavefront_x[0][i + 1] + 1;
#pragma omp ordered depend(source)
		}
#pragma omp for ordered(1) schedule(dynamic)
		for (unsigned long long i = 1; i < 8; i++) {
#pragma omp ordered depend(sink: i - 1)
			if (i > 1)
				wavefront_x[1][i] = wavefront_x[1][i - 1] + 1;
#pragma omp ordered depend(source)
		}
#pragma omp barrier
#pragma omp for ordered(3) schedule(static, 1)
		for (int i = 1; i < 8; i++)
			for (int j = 1; j < 8; j++)
				for (int k = 0; k < 2; k++) {
#pragma omp ordered depend(sink: i - 1, j, k) depend(sink: i, j - 1, k) depend(sink: i, j, k - 1)
					if (k)
						wavefront_x[i][j] += wavefront_x[i - 1][j] + wavefront_x[i][j - 1];
					if (i == broken_at)
						wavefront_x[0][0]++;
					else if (broken && i == 5)
						wavefront_x[0][0]--;
#pragma omp ordered depend(source)
					if (i == broken_at)
						wavefront_x[0][0]++;
				}
	}
	printf("%d\n", broken ? 0 : wavefront_x[7][7]);
}

static int schedules_x[N];
PAIR(schedules, "monotonic and nonmonotonic schedules, unsigned long long, downwards")
{
	int sum = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp for schedule(monotonic: dynamic, 2)
		for (int i = 0; i < N; i++)
			schedules_x[i] = i;
#pragma omp for schedule(nonmonotonic: guided)
		for (int i = N - 1; i >= 0; i--)
			schedules_x[i] += i;
#pragma omp for schedule(nonmonotonic: dynamic)
		for (unsigned long long i = 0; i < N; i++)
			schedules_x[broken ? i / 2 : i] *= 2;
#pragma omp for schedule(monotonic: runtime)
		for (unsigned long long i = N; i > 0; i--)
			schedules_x[i - 1] += 1;
	}
	for (int i = 0; i < N; i++)
		sum += schedules_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int triangle_x[8][8];
PAIR(triangle, "collapse of a triangle")
{
	int sum = 0;
#pragma omp parallel for collapse(2) num_threads(3)
	for (int i = 0; i < 8; i++)
		for (int j = 0; j <= i; j++)
			triangle_x[broken ? 0 : i][j] = i + j;
	for (int i = 0; i < 8; i++)
		sum += triangle_x[i][i];
	printf("%d\n", broken ? 0 : sum);
}

static int scan_x;
PAIR(scan, "reduction(inscan, …), scan inclusive and exclusive")
{
	int in[N], out[N], sum = 0;
	for (int i = 0; i < N; i++)
		in[i] = i;
#pragma omp parallel for reduction(inscan, +:sum) num_threads(3)
	for (int i = 0; i < N; i++) {
		sum += in[i];
#pragma omp scan inclusive(sum)
		out[i] = sum;
		if (broken)
			scan_x += i;
	}
	int exclusive = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp for reduction(inscan, +:exclusive)
		for (int i = 0; i < N; i++) {
			in[i] += exclusive;
#pragma omp scan exclusive(exclusive)
			exclusive += out[i];
		}
	}
	printf("%d %d %d\n", sum, out[N - 1], in[N - 1]);
}

static int reduce_forms_x;
PAIR(reduce_forms, "reductions of several kinds and of a part of an array, one after another")
{
	double most = 0, product = 1;
	int all = -1, some = 0, part[10] = {0};
	long count = 0;
	for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(3)
		{
#pragma omp for reduction(max:most) reduction(*:product) nowait
			for (int i = 0; i < 10; i++) {
				most = i > most ? i : most;
				product *= 1;
			}
#pragma omp for reduction(&:all) reduction(||:some) reduction(+:part[2:6])
			for (int i = 0; i < 10; i++) {
				all &= ~i;
				some = some || i == 3;
				part[2 + i % 6] += i;
			}
#pragma omp for reduction(+:count)
			for (int i = 0; i < 10; i++) {
				count += part[2];
				if (broken)
					reduce_forms_x++;
			}
		}
	}
	printf("%g %g %d %d %d %ld\n", most, product, all, some, part[3], count);
}

static int reduce_early_x, reduce_early_y;
PAIR(reduce_early, "reduction nowait: the result before a barrier")
{
	reduce_early_y = 1;
#pragma omp parallel num_threads(3)
	{
#pragma omp for reduction(+:reduce_early_x) reduction(*:reduce_early_y) nowait
		for (int i = 0; i < 12; i++) {
			reduce_early_x += i;
			reduce_early_y *= 1;
		}
		if (!broken) {
#pragma omp barrier
		}
		if (reduce_early_x < 0)
			printf("negative\n");
	}
	printf("%d\n", reduce_early_x + reduce_early_y);
}

static int reduce_clear_x, reduce_clear_y;
PAIR(reduce_clear, "results cleared before the reduction")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp masked
		reduce_clear_x = reduce_clear_y = 0;
		if (!broken) {
#pragma omp barrier
		}
#pragma omp for reduction(+:reduce_clear_x, reduce_clear_y)
		for (int i = 0; i < 12; i++) {
			reduce_clear_x += i;
			reduce_clear_y -= i;
		}
	}
	printf("%d\n", broken ? 0 : reduce_clear_x + reduce_clear_y);
}

static int reduce_one_x;
PAIR(reduce_one, "reduction nowait of a single integer")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp for reduction(+:reduce_one_x) nowait
		for (int i = 0; i < 12; i++)
			reduce_one_x += i;
		if (!broken) {
#pragma omp barrier
		}
		if (reduce_one_x < 0)
			printf("negative\n");
	}
	printf("%d\n", reduce_one_x);
}

static unsigned char widths_c;
static unsigned short widths_s;
static long widths_l;
static float widths_f;
static int widths_x;
PAIR(widths, "atomic on char, short, long and float; capture, min")
{
	long before = 0;
#pragma omp parallel num_threads(3) reduction(+:before)
	for (int i = 0; i < 5; i++) {
		long mine;
#pragma omp atomic
		widths_c++;
#pragma omp atomic
		widths_s += 3;
#pragma omp atomic
		widths_f += 0.5f;
#pragma omp atomic capture
		{
			mine = widths_l;
			widths_l += 2;
		}
		before += mine;
		if (broken)
			widths_x++;
	}
	printf("%d %d %ld %g %ld\n", widths_c, widths_s, widths_l, widths_f, before);
}

static int compare_most, compare_flag, compare_x;
PAIR(compare, "atomic compare, compare capture")
{
	int winners = 0;
#pragma omp parallel num_threads(3) reduction(+:winners)
	{
		int me = omp_get_thread_num() + 1, won;
#pragma omp atomic compare
		compare_most = compare_most < me ? me : compare_most;
#pragma omp atomic compare capture seq_cst
		{
			won = compare_flag == 0;
			if (won) {
				compare_flag = 1;
			}
		}
		winners += won;
		if (won || broken)
			compare_x++;
	}
	printf("%d %d %d\n", compare_most, winners, broken ? 0 : compare_x);
}

static int flush_forms_x, flush_forms_f;
PAIR(flush_forms, "flush release and flush acquire")
{
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		flush_forms_x = 1;
		if (!broken) {
#pragma omp flush release
		}
#pragma omp atomic write relaxed
		flush_forms_f = 1;
	} else {
		for (int f = 0; !f; sched_yield()) {
#pragma omp atomic read relaxed
			f = flush_forms_f;
		}
		if (!broken) {
#pragma omp flush acquire
		}
		if (flush_forms_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", flush_forms_x);
}

static int hints_x;
PAIR(hints, "critical with a hint, inside another; nested locks of two kinds")
{
	omp_nest_lock_t nest;
	omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(3)
	for (int i = 0; i < 3; i++) {
#pragma omp critical(outer) hint(omp_sync_hint_contended)
		{
#pragma omp critical(inner) hint(omp_sync_hint_speculative)
			hints_x++;
		}
		omp_set_nest_lock(&nest);
		omp_test_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
		if (broken)
			hints_x++;
		omp_unset_nest_lock(&nest);
	}
	omp_destroy_nest_lock(&nest);
	printf("%d\n", broken ? 0 : hints_x);
}

static int storage_x, storage_own[40];
#pragma omp threadprivate(storage_own)
PAIR(storage, "threadprivate from one region to the next, copyin of an array, copyprivate of a pointer")
{
	int total = 0;
	storage_own[5] = 2;
#pragma omp parallel num_threads(3) copyin(storage_own)
	{
		int *p = NULL;
		storage_own[0] = omp_get_thread_num();
#pragma omp single copyprivate(p)
		p = calloc(3, sizeof *p);
		p[broken ? 0 : omp_get_thread_num()] = storage_own[5];
#pragma omp barrier
#pragma omp masked
		free(p);
	}
#pragma omp parallel num_threads(3) reduction(+:total)
	{
		total += storage_own[0] + storage_own[5];
		if (broken)
			storage_x++;
	}
	printf("%d\n", total);
}

static int private_vla_x;
__attribute__((noinline)) static int private_vla(int n, int broken)
{
	int own[n], first[n], last[n];
	for (int i = 0; i < n; i++)
		first[i] = i;
#pragma omp parallel num_threads(3) private(own) firstprivate(first)
	{
		for (int i = 0; i < n; i++)
			own[i] = first[i]++;
#pragma omp for lastprivate(last)
		for (int i = 0; i < n; i++) {
			last[0] = i + own[1] + first[1];
			if (broken)
				private_vla_x += i;
		}
	}
	return last[0];
}
PAIR(private_vla, "private, firstprivate, lastprivate of variable-length arrays")
{
	printf("%d\n", private_vla(9, broken));
}

static int allocate_x;
PAIR(allocate, "allocate clause, omp_alloc, omp_aligned_alloc, omp_realloc, omp_free")
{
	int *shared = omp_calloc(4, sizeof *shared, omp_default_mem_alloc), own[50] = {0}, sum = 0;
#pragma omp parallel num_threads(3) firstprivate(own) allocate(omp_default_mem_alloc: own) reduction(+:sum)
	{
		own[3] = omp_get_thread_num();
		shared[broken ? 0 : omp_get_thread_num()] += own[3];
		int *mine = omp_aligned_alloc(64, 64, omp_large_cap_mem_alloc);
		mine[0] = own[3];
		mine = omp_realloc(mine, 256, omp_default_mem_alloc, omp_large_cap_mem_alloc);
		mine[60] = mine[0];
		sum += mine[60];
		omp_free(mine, omp_default_mem_alloc);
		if (broken)
			allocate_x++;
	}
	printf("%d %d\n", sum, broken ? 0 : shared[2]);
	omp_free(shared, omp_default_mem_alloc);
}

static int conditional_x;
PAIR(conditional, "lastprivate(conditional: …)")
{
	int last = 0;
#pragma omp parallel for lastprivate(conditional: last) num_threads(3) schedule(dynamic)
	for (int i = 0; i < N; i++) {
		if (i % 5 == 2)
			last = i;
		if (broken)
			conditional_x += i;
	}
	printf("%d\n", last);
}

static int variant_x;
static int variant_parallel(int broken)
{
	if (broken)
		variant_x++;
	return 1;
}
#pragma omp declare variant(variant_parallel) match(construct = {parallel})
static int variant_base(int broken) { return broken; }
PAIR(variant, "declare variant, masked taskloop, proc_bind")
{
	int sum = 0;
#pragma omp parallel num_threads(3) proc_bind(close) reduction(+:sum)
	{
		sum += variant_base(broken);
#pragma omp masked taskloop num_tasks(3)
		for (int i = 0; i < 6; i++) {
#pragma omp task
			variant_base(0);
		}
	}
	printf("%d\n", sum);
}
