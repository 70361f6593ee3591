/* OpenMP: teams, work sharing and locks. */
#include <omp.h>
#include <sched.h>

#include "pair.h"

enum { N = 16 };

static int parallel_x[2];
PAIR(parallel, "parallel: start and end of the team")
{
	parallel_x[0] = 1;
#pragma omp parallel num_threads(2)
	{
		if (broken)
			parallel_x[1]++;
		else if (omp_get_thread_num() == 1)
			parallel_x[1] = parallel_x[0];
	}
	printf("%d\n", broken ? 0 : parallel_x[1]);
}

static int teams_x;
PAIR(teams, "parallel regions one after another")
{
	for (int i = 0; i < 4; i++)
#pragma omp parallel num_threads(3)
		if (broken || omp_get_thread_num() == i % 3)
			teams_x++;
	printf("%d\n", broken ? 0 : teams_x);
}

/* Each schedule: neighbours are read from the loop before. */
#define SCHEDULE(name, clause)                                          \
	static int schedule_##name##_a[N], schedule_##name##_b[N];      \
	PAIR(schedule_##name, "for schedule(" #clause ")")              \
	{                                                               \
		int sum = 0;                                            \
		_Pragma("omp parallel num_threads(3)")                  \
		{                                                       \
			DO(omp for schedule(clause))                    \
			for (int i = 0; i < N; i++)                     \
				schedule_##name##_a[broken ? 0 : i] = i; \
			DO(omp for schedule(clause))                    \
			for (int i = 0; i < N; i++)                     \
				schedule_##name##_b[i] = schedule_##name##_a[N - 1 - i]; \
		}                                                       \
		for (int i = 0; i < N; i++)                             \
			sum += schedule_##name##_b[i];                  \
		printf("%d\n", broken ? 0 : sum);                       \
	}
#define COMMA ,
#define DO(x) _Pragma(#x)
SCHEDULE(static, static)
SCHEDULE(chunked, static COMMA 1)
SCHEDULE(dynamic, dynamic)
SCHEDULE(guided, guided)
SCHEDULE(runtime, runtime)
SCHEDULE(auto, auto)

static int nowait_x[N];
PAIR(nowait, "for nowait")
{
#pragma omp parallel num_threads(2)
	{
		if (broken) {
#pragma omp for schedule(static) nowait
			for (int i = 0; i < N; i++)
				nowait_x[i] = i;
		} else {
#pragma omp for schedule(static)
			for (int i = 0; i < N; i++)
				nowait_x[i] = i;
		}
#pragma omp for schedule(static)
		for (int i = 0; i < N; i++)
			if (nowait_x[N - 1 - i] == 50)
				printf("fifty\n");
	}
	printf("done\n");
}

static int sections_x[3];
PAIR(sections, "sections")
{
#pragma omp parallel sections num_threads(3)
	{
#pragma omp section
		sections_x[0] = 1;
#pragma omp section
		sections_x[broken ? 0 : 1] = 2;
#pragma omp section
		sections_x[broken ? 0 : 2] = 3;
	}
	printf("%d\n", broken ? 0 : sections_x[0] + sections_x[1] + sections_x[2]);
}

static int single_x;
PAIR(single, "single")
{
#pragma omp parallel num_threads(3)
	{
		if (broken) {
#pragma omp single nowait
			single_x = 1;
		} else {
#pragma omp single
			single_x = 1;
		}
		if (single_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", single_x);
}

static int copyprivate_x;
PAIR(copyprivate, "single copyprivate")
{
	int total = 0;
#pragma omp parallel num_threads(3) reduction(+:total)
	{
		int v = 0;
#pragma omp single copyprivate(v)
		{
			copyprivate_x = 4;
			v = 5;
		}
		if (broken)
			copyprivate_x = 6;
		else if (copyprivate_x != 4)
			printf("not four\n");
		total += v;
	}
	printf("%d\n", total);
}

static int master_x;
PAIR(master, "master (no barrier)")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp master
		master_x = 1;
		if (!broken) {
#pragma omp barrier
		}
		if (master_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", master_x);
}

static int masked_x;
PAIR(masked, "masked filter")
{
#pragma omp parallel num_threads(3)
	{
		if (broken)
			masked_x++;
#pragma omp masked filter(1)
		masked_x++;
	}
	printf("%d\n", broken ? 0 : masked_x);
}

static int critical_x;
PAIR(critical, "critical")
{
#pragma omp parallel num_threads(3)
	for (int i = 0; i < 4; i++)
		if (broken && omp_get_thread_num()) {
			critical_x++;
		} else {
#pragma omp critical
			critical_x++;
		}
	printf("%d\n", broken ? 0 : critical_x);
}

static int critical_named_x;
PAIR(critical_named, "critical with a name; two names")
{
#pragma omp parallel num_threads(3)
	if (broken && omp_get_thread_num() == 1) {
#pragma omp critical(second)
		critical_named_x++;
	} else {
#pragma omp critical(first)
		critical_named_x++;
	}
	printf("%d\n", broken ? 0 : critical_named_x);
}

static int atomic_x, atomic_plain;
PAIR(atomic, "atomic update")
{
#pragma omp parallel num_threads(3)
	for (int i = 0; i < 4; i++)
		if (broken) {
			atomic_plain++;
		} else {
#pragma omp atomic update
			atomic_x += 2;
		}
	printf("%d\n", atomic_x);
}

static double atomic_double_x, atomic_double_plain;
static long double atomic_double_wide;
PAIR(atomic_double, "atomic on double and on a type too wide for the machine")
{
#pragma omp parallel num_threads(3)
	{
		if (broken)
			atomic_double_plain += 1;
#pragma omp atomic
		atomic_double_x += 0.5;
#pragma omp atomic
		atomic_double_wide += 1;
	}
	printf("%g %g\n", atomic_double_x, (double)atomic_double_wide);
}

static int atomic_flag_x, atomic_flag_f;
PAIR(atomic_flag, "atomic write and read, seq_cst")
{
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		atomic_flag_x = 1;
		if (broken) {
#pragma omp atomic write
			atomic_flag_f = 1;
		} else {
#pragma omp atomic write seq_cst
			atomic_flag_f = 1;
		}
	} else {
		for (int f = 0; !f; sched_yield()) {
			if (broken) {
#pragma omp atomic read
				f = atomic_flag_f;
			} else {
#pragma omp atomic read seq_cst
				f = atomic_flag_f;
			}
		}
		if (atomic_flag_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", atomic_flag_x);
}

static int atomic_acq_rel_x, atomic_acq_rel_f;
PAIR(atomic_acq_rel, "atomic write release, atomic read acquire")
{
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		if (!broken)
			atomic_acq_rel_x = 1;
#pragma omp atomic write release
		atomic_acq_rel_f = 1;
		if (broken)
			atomic_acq_rel_x = 1;
	} else {
		for (int f = 0; !f; sched_yield()) {
#pragma omp atomic read acquire
			f = atomic_acq_rel_f;
		}
		if (atomic_acq_rel_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", atomic_acq_rel_x);
}

static int capture_x[4], capture_next;
PAIR(capture, "atomic capture")
{
#pragma omp parallel num_threads(4)
	{
		int mine;
		if (broken) {
			mine = capture_next;
#pragma omp atomic
			capture_next++;
			capture_x[0]++;
		} else {
#pragma omp atomic capture
			mine = capture_next++;
		}
		capture_x[mine & 3] = 1;
	}
	printf("%d\n", broken ? 0 : capture_x[0] + capture_x[1] + capture_x[2] + capture_x[3]);
}

static int ordered_x;
PAIR(ordered, "for ordered")
{
#pragma omp parallel for num_threads(3) ordered schedule(dynamic)
	for (int i = 0; i < 9; i++) {
		if (broken)
			ordered_x += i;
#pragma omp ordered
		ordered_x = ordered_x * 2 + i;
	}
	printf("%d\n", broken ? 0 : ordered_x);
}

static int doacross_x[N + 1];
PAIR(doacross, "ordered depend(sink), depend(source)")
{
#pragma omp parallel for num_threads(3) ordered(1) schedule(static, 1)
	for (int i = 1; i <= N; i++) {
		if (!broken) {
#pragma omp ordered depend(sink: i - 1)
		}
		doacross_x[i] = doacross_x[i - 1] + 1;
#pragma omp ordered depend(source)
	}
	printf("%d\n", broken ? 0 : doacross_x[N]);
}

static int doacross2_x[5][5];
PAIR(doacross2, "doacross in two dimensions")
{
#pragma omp parallel for num_threads(3) ordered(2) schedule(dynamic)
	for (int i = 1; i < 5; i++)
		for (int j = 1; j < 5; j++) {
			if (broken) {
#pragma omp ordered depend(sink: i, j - 1)
			} else {
#pragma omp ordered depend(sink: i - 1, j) depend(sink: i, j - 1)
			}
			doacross2_x[i][j] = doacross2_x[i - 1][j] + doacross2_x[i][j - 1] + 1;
#pragma omp ordered depend(source)
		}
	printf("%d\n", broken ? 0 : doacross2_x[4][4]);
}

static int reduction_x;
PAIR(reduction, "reduction of a loop")
{
	int sum = 0;
#pragma omp parallel for num_threads(3) reduction(+:sum)
	for (int i = 0; i < N; i++) {
		if (broken)
			reduction_x += i;
		sum += i;
	}
	printf("%d\n", sum);
}

static int reduction_array_x[4];
PAIR(reduction_array, "reduction of an array section, max and bit operations")
{
	int most = 0, bits = 0;
	if (broken)
#pragma omp parallel for num_threads(3)
		for (int i = 0; i < N; i++)
			reduction_array_x[i % 4]++;
	else
#pragma omp parallel for num_threads(3) reduction(+:reduction_array_x[:4]) reduction(max:most) reduction(|:bits)
		for (int i = 0; i < N; i++) {
			reduction_array_x[i % 4]++;
			most = i > most ? i : most;
			bits |= 1 << i % 3;
		}
	printf("%d %d %d\n", broken ? 0 : reduction_array_x[1], broken ? 0 : most, broken ? 0 : bits);
}

struct reduction_user { int low, high; };
static struct reduction_user reduction_user_x;
static void join(struct reduction_user *to, struct reduction_user *from)
{
	to->low = from->low < to->low ? from->low : to->low;
	to->high = from->high > to->high ? from->high : to->high;
}
#pragma omp declare reduction(range : struct reduction_user : join(&omp_out, &omp_in)) \
	initializer(omp_priv = (struct reduction_user){1000, -1000})
PAIR(reduction_user, "declare reduction")
{
	struct reduction_user r = {1000, -1000};
#pragma omp parallel for num_threads(3) reduction(range:r)
	for (int i = 0; i < N; i++) {
		struct reduction_user one = {i, i};
		join(broken ? &reduction_user_x : &r, &one);
	}
	printf("%d %d\n", broken ? 0 : r.low, broken ? 0 : r.high);
}

static int lastprivate_x;
PAIR(lastprivate, "lastprivate, firstprivate")
{
	int last = 0, first = 2;
#pragma omp parallel for num_threads(3) lastprivate(last) firstprivate(first)
	for (int i = 0; i < N; i++) {
		last = i;
		first += i;
		if (broken)
			lastprivate_x += i;
	}
	printf("%d %d\n", broken ? lastprivate_x > 999 : last, first);
}

static int barrier_x[4];
PAIR(barrier, "barrier")
{
	int total = 0;
#pragma omp parallel num_threads(4) reduction(+:total)
	for (int i = 0; i < 3; i++) {
		barrier_x[omp_get_thread_num()] = i;
		if (!broken) {
#pragma omp barrier
		}
		total += barrier_x[(omp_get_thread_num() + 1) % 4];
#pragma omp barrier
	}
	printf("%d\n", broken ? 0 : total);
}

static int lock_x;
PAIR(lock, "omp_set_lock, omp_unset_lock")
{
	omp_lock_t lock;
	omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
	for (int i = 0; i < 4; i++) {
		omp_set_lock(&lock);
		if (broken)
			omp_unset_lock(&lock);
		lock_x++;
		if (!broken)
			omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
	printf("%d\n", broken ? 0 : lock_x);
}

static int test_lock_x;
PAIR(test_lock, "omp_test_lock")
{
	omp_lock_t lock;
	omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
	{
		int held = omp_test_lock(&lock);
		while (!broken && !held) {
			sched_yield();
			held = omp_test_lock(&lock);
		}
		if (!broken)
			test_lock_x++;
		if (held)
			omp_unset_lock(&lock);
		if (broken)
			test_lock_x++;
	}
	omp_destroy_lock(&lock);
	printf("%d\n", broken ? 0 : test_lock_x);
}

static int nest_lock_x;
static omp_nest_lock_t nest_lock_lock;
static void deeper(int n)
{
	omp_set_nest_lock(&nest_lock_lock);
	nest_lock_x++;
	if (n)
		deeper(n - 1);
	omp_unset_nest_lock(&nest_lock_lock);
}
PAIR(nest_lock, "nested locks")
{
	omp_init_nest_lock(&nest_lock_lock);
#pragma omp parallel num_threads(3)
	{
		if (broken)
			nest_lock_x++;
		deeper(2);
	}
	omp_destroy_nest_lock(&nest_lock_lock);
	printf("%d\n", broken ? 0 : nest_lock_x);
}

static int threadprivate_x, threadprivate_own;
#pragma omp threadprivate(threadprivate_own)
PAIR(threadprivate, "threadprivate, copyin")
{
	int total = 0;
	threadprivate_own = 3;
#pragma omp parallel num_threads(3) copyin(threadprivate_own) reduction(+:total)
	{
		threadprivate_own++;
		if (broken)
			threadprivate_x++;
		total += threadprivate_own;
	}
	printf("%d\n", total);
}

static int nested_x[2];
PAIR(nested, "nested parallel regions")
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
		int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
		if (broken || omp_get_thread_num() == 1)
			nested_x[outer]++;
		nested_x[outer]++;
	}
	printf("%d\n", broken ? 0 : nested_x[0] + nested_x[1]);
}

static int cancel_x;
PAIR(cancel, "cancel for, cancellation point (OMP_CANCELLATION may be off)")
{
	int found = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 30; i++) {
#pragma omp cancellation point for
			if (i == 3) {
#pragma omp atomic write
				found = 1;
#pragma omp cancel for
			}
			if (broken)
				cancel_x++;
		}
#pragma omp barrier
#pragma omp master
		if (!broken)
			cancel_x++;
	}
	printf("%d %d\n", found, broken ? 0 : cancel_x);
}

static int flush_x, flush_f;
PAIR(flush, "flush around atomic accesses")
{
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		flush_x = 1;
		if (!broken) {
#pragma omp flush
		}
#pragma omp atomic write
		flush_f = 1;
	} else {
		for (int f = 0; !f; sched_yield()) {
#pragma omp atomic read
			f = flush_f;
		}
		if (!broken) {
#pragma omp flush
		}
		if (flush_x == 50)
			printf("fifty\n");
	}
	printf("%d\n", flush_x);
}

static int loop_order_x;
PAIR(loop_order, "dynamic loop: chunks are in no order")
{
#pragma omp parallel num_threads(3)
#pragma omp for schedule(dynamic)
	for (int i = 0; i < 12; i++) {
		if (broken)
			loop_order_x += i;
		sched_yield();
	}
	printf("%d\n", loop_order_x > 999);
}

static int simd_x[N];
PAIR(simd, "parallel for simd, collapse")
{
	int sum = 0;
#pragma omp parallel for simd num_threads(3)
	for (int i = 0; i < N; i++)
		simd_x[broken ? i / 8 : i] = i;
#pragma omp parallel for collapse(2) num_threads(3) reduction(+:sum)
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			sum += simd_x[4 * i + j];
	printf("%d\n", broken ? 0 : sum);
}
