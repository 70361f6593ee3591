/*
 * OpenMP: work that is shared out. In each broken twin two shares conflict, which
 * is a race when different threads get them.
 */
#include <omp.h>

#include "../sync/pair.h"

enum { N = 24 };

static int spent;

/* spend computes for about 4 * n instructions. */
static void spend(int n)
{
	int v = n;

	for (int i = 0; i < n; i++)
		v = v * 3 + i;
	if (v == 12345)
		spent++;
}

static int sections_x[2];
PAIR(sections, "two sections")
{
#pragma omp parallel sections num_threads(3)
	{
#pragma omp section
		sections_x[0]++;
#pragma omp section
		sections_x[!broken]++;
	}
	printf("%d\n", sections_x[0] + sections_x[1]);
}

static int sections_far_x[2];
PAIR(sections_far, "the first and the last of six sections")
{
#pragma omp parallel sections num_threads(3)
	{
#pragma omp section
		sections_far_x[0]++;
#pragma omp section
		spend(20);
#pragma omp section
		spend(20);
#pragma omp section
		spend(20);
#pragma omp section
		spend(20);
#pragma omp section
		sections_far_x[!broken]++;
	}
	printf("%d\n", sections_far_x[0] + sections_far_x[1]);
}

static int sections_long_x[2];
PAIR(sections_long, "sections of different lengths")
{
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		spend(4000);
#pragma omp section
		sections_long_x[0]++;
#pragma omp section
		sections_long_x[!broken]++;
	}
	printf("%d\n", sections_long_x[0] + sections_long_x[1]);
}

static int sections_nowait_x;
PAIR(sections_nowait, "sections nowait, what they made is used in a single")
{
#pragma omp parallel num_threads(3)
	{
		if (broken) {
#pragma omp sections nowait
			{
#pragma omp section
				sections_nowait_x = 1;
#pragma omp section
				spend(10);
			}
		} else {
#pragma omp sections
			{
#pragma omp section
				sections_nowait_x = 1;
#pragma omp section
				spend(10);
			}
		}
#pragma omp single
		if (sections_nowait_x == 2)
			printf("two\n");
	}
	printf("done\n");
}

static int sections_last_x;
PAIR(sections_last, "lastprivate of sections nowait")
{
	int last = 0;

#pragma omp parallel num_threads(3)
	{
#pragma omp sections lastprivate(last) nowait
		{
#pragma omp section
			last = 1;
#pragma omp section
			last = 2;
		}
		if (!broken) {
#pragma omp barrier
		}
#pragma omp single
		sections_last_x = broken ? 0 : last;
#pragma omp sections
		{
#pragma omp section
			sections_last_x++;
#pragma omp section
			if (broken)
				sections_last_x++;
		}
	}
	printf("%d\n", broken ? 0 : sections_last_x);
}

static int single_x;
PAIR(single, "single nowait, then a single that uses what it made")
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
#pragma omp single
		if (single_x == 2)
			printf("two\n");
	}
	printf("done\n");
}

static int singles_x;
PAIR(singles, "a row of singles nowait")
{
#pragma omp parallel num_threads(3)
	{
		if (broken) {
#pragma omp single nowait
			singles_x++;
#pragma omp single nowait
			singles_x++;
#pragma omp single nowait
			singles_x++;
		} else {
#pragma omp single
			singles_x++;
#pragma omp single
			singles_x++;
#pragma omp single
			singles_x++;
		}
	}
	printf("%d\n", broken ? 0 : singles_x);
}

static int dynamic_a[N + 1];
PAIR(dynamic, "schedule(dynamic), a loop that carries a dependence")
{
#pragma omp parallel for schedule(dynamic) num_threads(3)
	for (int i = 1; i <= N; i++)
		dynamic_a[i] = (broken ? dynamic_a[i - 1] : 0) + 1;
	printf("%d\n", dynamic_a[1]);
}

static int chunk_a[N + 1];
PAIR(chunk, "schedule(dynamic, 8), a dependence from chunk to chunk")
{
#pragma omp parallel for schedule(dynamic, 8) num_threads(3)
	for (int i = 1; i <= N; i++)
		chunk_a[i] = (broken ? chunk_a[i - 1] : 0) + 1;
	printf("%d\n", chunk_a[1]);
}

static int guided_a[N + 1];
PAIR(guided, "schedule(guided), a loop that carries a dependence")
{
#pragma omp parallel for schedule(guided) num_threads(3)
	for (int i = 1; i <= N; i++)
		guided_a[i] = (broken ? guided_a[i - 1] : 0) + 1;
	printf("%d\n", guided_a[1]);
}

static int rare_x[2];
PAIR(rare, "two iterations of 64 conflict")
{
#pragma omp parallel for schedule(dynamic) num_threads(2)
	for (int i = 0; i < 64; i++)
		if (i == 20 || i == 21)
			rare_x[broken ? 0 : i - 20]++;
		else
			spend(5);
	printf("%d\n", rare_x[0] + rare_x[1]);
}

static int rare_far_x[2];
PAIR(rare_far, "iterations 3 and 60 of 64 conflict")
{
#pragma omp parallel for schedule(dynamic) num_threads(2)
	for (int i = 0; i < 64; i++)
		if (i == 3 || i == 60)
			rare_far_x[broken ? 0 : i == 3]++;
		else
			spend(5);
	printf("%d\n", rare_far_x[0] + rare_far_x[1]);
}

static int collapse_a[6][6];
PAIR(collapse, "collapse(2) schedule(dynamic), the inner loop carries a dependence")
{
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(3)
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
			collapse_a[i][j] = broken && j ? collapse_a[i][j - 1] : i;
	printf("%d\n", collapse_a[1][0]);
}

static int ordered_x;
PAIR(ordered, "one access stands outside of ordered")
{
#pragma omp parallel for ordered schedule(dynamic) num_threads(3)
	for (int i = 0; i < 12; i++) {
		if (broken && i == 5)
			ordered_x = 3;
#pragma omp ordered
		ordered_x += i;
	}
	printf("%d\n", broken ? 0 : ordered_x);
}

static int names_x;
PAIR(names, "critical sections of two names")
{
#pragma omp parallel for schedule(dynamic) num_threads(3)
	for (int i = 0; i < 6; i++)
		if (broken && i == 3) {
#pragma omp critical(names_b)
			names_x++;
		} else {
#pragma omp critical(names_a)
			names_x++;
		}
	printf("%d\n", broken ? 0 : names_x);
}

static int after_x;
PAIR(after, "a critical section, and a read after it")
{
#pragma omp parallel for schedule(dynamic) num_threads(2)
	for (int i = 0; i < 4; i++) {
		int now;
#pragma omp critical
		now = ++after_x;
		if (now == 3 && broken && after_x == 9)
			printf("nine\n");
	}
	printf("%d\n", broken ? 0 : after_x);
}

static int loops_a[N];
PAIR(loops, "two dynamic loops, the first nowait")
{
#pragma omp parallel num_threads(3)
	{
		if (broken) {
#pragma omp for schedule(dynamic) nowait
			for (int i = 0; i < N; i++)
				loops_a[i] = i;
		} else {
#pragma omp for schedule(dynamic)
			for (int i = 0; i < N; i++)
				loops_a[i] = i;
		}
#pragma omp for schedule(dynamic)
		for (int i = 0; i < N; i++)
			if (loops_a[i] == N)
				printf("end\n");
	}
	printf("done\n");
}

static int master_x;
PAIR(master, "master makes, whoever gets the first section uses")
{
#pragma omp parallel num_threads(3)
	{
		if (omp_get_thread_num() == 0)
			master_x = 1;
		if (!broken) {
#pragma omp barrier
		}
#pragma omp single
		if (master_x == 2)
			printf("two\n");
	}
	printf("done\n");
}

static int total_x, total_taken;
PAIR(total, "the thread that takes the last item reads the sum")
{
	int sum = 0;

#pragma omp parallel num_threads(3)
	for (;;) {
		int i;
#pragma omp atomic capture seq_cst
		i = total_taken++;
		if (i >= 8)
			break;
		if (!broken) {
#pragma omp atomic
			total_x += i;
		} else if (i < 7) {
#pragma omp critical
			total_x += i;
		} else if (total_x > 100)
			printf("much\n");
	}
	sum = total_x;
	printf("%d\n", broken ? 0 : sum);
}

static int testlock_x;
PAIR(testlock, "omp_test_lock fails, the work is done all the same")
{
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 3; i++) {
		int held = 1;

		if (broken)
			held = omp_test_lock(&lock);
		else
			omp_set_lock(&lock);
		testlock_x++;
		if (held)
			omp_unset_lock(&lock);
	}
	omp_destroy_lock(&lock);
	printf("%d\n", broken ? 0 : testlock_x);
}

static int taskhand_x;
PAIR(taskhand, "two tasks, a critical section between their accesses")
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task depend(out : taskhand_x)
		{
			taskhand_x = 1;
#pragma omp critical
			spend(2);
		}
		if (broken) {
#pragma omp task
			{
#pragma omp critical
				spend(2);
				taskhand_x = 2;
			}
		} else {
#pragma omp task depend(out : taskhand_x)
			{
#pragma omp critical
				spend(2);
				taskhand_x = 2;
			}
		}
	}
	printf("%d\n", broken ? 0 : taskhand_x);
}

static int taskflag_x, taskflag_set;
PAIR(taskflag, "a task looks at a flag that its sibling sets too early")
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task
		{
			if (!broken)
				taskflag_x = 1;
#pragma omp atomic write seq_cst
			taskflag_set = 1;
			if (broken)
				taskflag_x = 1;
		}
#pragma omp task
		{
			int set;
#pragma omp atomic read seq_cst
			set = taskflag_set;
			if (set && taskflag_x == 2)
				printf("two\n");
		}
	}
	printf("done\n");
}

static int taskcount_x, taskcount_seen;
PAIR(taskcount, "the first task to come is taken to be the only one")
{
#pragma omp parallel num_threads(3)
#pragma omp single
	for (int i = 0; i < 4; i++)
#pragma omp task
	{
		int before;
		if (broken) {
#pragma omp atomic read seq_cst
			before = taskcount_seen;
		} else {
#pragma omp atomic capture seq_cst
			before = taskcount_seen++;
		}
		if (before == 0)
			taskcount_x++;
#pragma omp atomic seq_cst
		taskcount_seen++;
	}
	printf("%d\n", broken ? 0 : taskcount_x);
}

static int staticshare_a[16];
PAIR(staticshare, "a static loop with a dependence inside the shares of few threads")
{
#pragma omp parallel for
	for (int i = 0; i < 16; i++)
		staticshare_a[i] = broken && i == 5 ? staticshare_a[4] : i;
	printf("%d\n", staticshare_a[3]);
}

static int staticpeek_x;
PAIR(staticpeek, "a thread that is done early peeks at another's result")
{
	int done = 0;

#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 0) {
		spend(300);
		staticpeek_x = 1;
#pragma omp atomic write release
		done = 1;
	} else {
		int seen;
#pragma omp atomic read acquire
		seen = done;
		if (broken ? !seen : seen)
			if (staticpeek_x == 2)
				printf("two\n");
	}
	printf("done\n");
}
