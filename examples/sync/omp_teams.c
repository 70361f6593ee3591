/* OpenMP: leagues of teams, and target regions that the host runs. */
#include <omp.h>

#include "pair.h"

enum { N = 24 };

static int league_x[4];
PAIR(league, "teams: the initial threads")
{
#pragma omp teams num_teams(4)
	league_x[broken ? 0 : omp_get_team_num()] += 1;
	league_x[0]++;
	printf("%d\n", broken ? 0 : league_x[0]);
}

static int distribute_x[N];
PAIR(distribute, "teams distribute")
{
	int sum = 0;
#pragma omp teams distribute num_teams(3)
	for (int i = 0; i < N; i++)
		distribute_x[broken ? i % 2 : i] = i;
	for (int i = 0; i < N; i++)
		sum += distribute_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int distribute_for_x[N];
PAIR(distribute_for, "teams distribute parallel for")
{
	int sum = 0;
#pragma omp teams distribute parallel for num_teams(3) num_threads(2)
	for (int i = 0; i < N; i++)
		distribute_for_x[broken ? i % 8 : i] = i;
	for (int i = 0; i < N; i++)
		sum += distribute_for_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int league_own_x;
PAIR(league_own, "variables of a team")
{
	int first = 3;
#pragma omp teams num_teams(4) firstprivate(first)
	{
		int own[300];
		for (int i = 0; i < 300; i++)
			own[i] = first++;
#pragma omp parallel num_threads(2) shared(own)
		{
#pragma omp for
			for (int i = 0; i < 300; i++)
				own[i]++;
		}
		if (broken)
			league_own_x += own[5];
	}
	printf("%d\n", broken ? 0 : first);
}

static int league_parallel_x[3][2];
PAIR(league_parallel, "parallel regions in teams")
{
	int sum = 0;
#pragma omp teams num_teams(3)
	{
#pragma omp parallel num_threads(2)
		league_parallel_x[broken ? 0 : omp_get_team_num()][omp_get_thread_num()]++;
	}
	for (int i = 0; i < 3; i++)
		sum += league_parallel_x[i][0] + league_parallel_x[i][1];
	printf("%d\n", broken ? 0 : sum);
}

static int league_reduction_x;
PAIR(league_reduction, "teams reduction, distribute with a reduction")
{
	int sum = 0, most = 0;
#pragma omp teams distribute parallel for num_teams(3) num_threads(2) reduction(+:sum) reduction(max:most)
	for (int i = 0; i < N; i++) {
		sum += i;
		most = i > most ? i : most;
		if (broken)
			league_reduction_x++;
	}
	printf("%d %d\n", sum, most);
}

static int league_atomic_x, league_atomic_plain;
PAIR(league_atomic, "atomic and critical between teams")
{
#pragma omp teams num_teams(3)
	{
#pragma omp parallel num_threads(2)
		{
#pragma omp atomic
			league_atomic_x++;
			if (!broken) {
#pragma omp critical
				league_atomic_plain++;
			}
		}
		if (broken)
			league_atomic_plain++;
	}
	printf("%d\n", broken ? 0 : league_atomic_x + league_atomic_plain);
}

static int league_last_x;
PAIR(league_last, "distribute lastprivate, collapse, dist_schedule")
{
	int last = 0;
#pragma omp teams num_teams(3)
#pragma omp distribute collapse(2) lastprivate(last) dist_schedule(static, 2)
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			last = 4 * i + j;
			if (broken)
				league_last_x += i;
		}
	printf("%d\n", last);
}

static int league_loop_x[N];
PAIR(league_loop, "teams loop, loop bind(parallel)")
{
	int sum = 0;
#pragma omp teams loop num_teams(3)
	for (int i = 0; i < N; i++)
		league_loop_x[broken ? i % 2 : i] = i;
#pragma omp parallel num_threads(3)
#pragma omp loop bind(parallel) reduction(+:sum)
	for (int i = 0; i < N; i++)
		sum += league_loop_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int league_task_x, league_task_plain;
PAIR(league_task, "tasks in teams, waited for at the end of the league")
{
#pragma omp teams num_teams(2)
	{
#pragma omp parallel num_threads(2)
#pragma omp single
		{
#pragma omp task
			{
#pragma omp atomic
				league_task_x += 2;
			}
			if (broken)
				league_task_plain++;
		}
	}
	league_task_x++;
	printf("%d\n", broken ? 0 : league_task_x);
}

static int target_x[N];
PAIR(target, "target map")
{
#pragma omp target map(tofrom: target_x)
	for (int i = 0; i < N; i++)
		target_x[i] = i;
#pragma omp parallel num_threads(2)
	if (broken || omp_get_thread_num() == 1) {
#pragma omp target map(tofrom: target_x)
		target_x[3]++;
	}
	printf("%d\n", broken ? 0 : target_x[3]);
}

/* Two threads: the third would end together with the second, at which libgcc of
 * a statically linked program may abort. */
static int target_parallel_x[N];
PAIR(target_parallel, "target parallel for")
{
	int sum = 0;
#pragma omp target parallel for map(tofrom: target_parallel_x) num_threads(2)
	for (int i = 0; i < N; i++)
		target_parallel_x[broken ? 1 : i] = i;
#pragma omp target parallel for map(tofrom: sum) reduction(+:sum) num_threads(2)
	for (int i = 0; i < N; i++)
		sum += target_parallel_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int target_teams_x[N];
PAIR(target_teams, "target teams distribute")
{
	int sum = 0, scale = 2;
#pragma omp target teams distribute map(tofrom: target_teams_x) num_teams(3)
	for (int i = 0; i < N; i++) {
		int own = i * scale;
		target_teams_x[broken ? i % 2 : i] = own;
	}
	for (int i = 0; i < N; i++)
		sum += target_teams_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int target_all_x[N];
PAIR(target_all, "target teams distribute parallel for simd, reduction")
{
	int sum = 0;
#pragma omp target teams distribute parallel for simd map(tofrom: target_all_x, sum) num_teams(3) num_threads(2) reduction(+:sum)
	for (int i = 0; i < N; i++) {
		target_all_x[broken ? i % 8 : i] = i;
		sum += i;
	}
	printf("%d\n", sum);
}

static int target_nowait_x;
PAIR(target_nowait, "target nowait, taskwait")
{
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp target nowait map(tofrom: target_nowait_x)
		target_nowait_x++;
		if (!broken) {
#pragma omp taskwait
		}
		target_nowait_x++;
	}
	target_nowait_x++;
	printf("%d\n", broken ? 0 : target_nowait_x);
}

static int target_alone_x;
PAIR(target_alone, "target nowait outside of any team, in a taskgroup")
{
	if (broken) {
#pragma omp target nowait map(tofrom: target_alone_x)
		target_alone_x++;
	} else {
#pragma omp taskgroup
		{
#pragma omp target nowait map(tofrom: target_alone_x)
			target_alone_x++;
		}
	}
	target_alone_x++;
#pragma omp taskwait
	printf("%d\n", broken ? 0 : target_alone_x);
}

static int target_depend_x[2];
PAIR(target_depend, "target nowait depend among tasks")
{
	int a = 0, b = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp task depend(out: a)
		target_depend_x[0] = 1;
		if (broken) {
#pragma omp target nowait map(tofrom: target_depend_x) depend(in: b)
			target_depend_x[0]++;
		} else {
#pragma omp target nowait map(tofrom: target_depend_x) depend(inout: a)
			target_depend_x[0]++;
		}
#pragma omp task depend(in: a)
		target_depend_x[1] = target_depend_x[0];
	}
	printf("%d\n", broken ? 0 : target_depend_x[1] + a + b);
}

static int target_waits_x;
PAIR(target_waits, "target depend without nowait waits")
{
	int a = 0, b = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp task depend(out: a)
		target_waits_x = 1;
		if (broken) {
#pragma omp target map(tofrom: target_waits_x) depend(in: b)
			target_waits_x++;
		} else {
#pragma omp target map(tofrom: target_waits_x) depend(in: a)
			target_waits_x++;
		}
		target_waits_x++;
	}
	printf("%d\n", broken ? 0 : target_waits_x + a + b);
}

static int target_tasks_x[2];
PAIR(target_tasks, "the end of a target region waits for its tasks")
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp target map(tofrom: target_tasks_x)
		{
#pragma omp task
			target_tasks_x[0]++;
#pragma omp task
			target_tasks_x[1]++;
		}
		target_tasks_x[0]++;
#pragma omp target nowait map(tofrom: target_tasks_x)
		{
#pragma omp task
			target_tasks_x[0]++;
#pragma omp task
			target_tasks_x[1]++;
		}
		if (!broken) {
#pragma omp taskwait
		}
		target_tasks_x[0] += target_tasks_x[1];
	}
	printf("%d\n", broken ? 0 : target_tasks_x[0]);
}

static int target_data_x[N];
PAIR(target_data, "target data, enter data, update, exit data, with depend and nowait")
{
	int *p = target_data_x;
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp target enter data map(to: p[0:N]) depend(out: p[0]) nowait
#pragma omp target map(tofrom: p[0:N]) depend(inout: p[0]) nowait
		for (int i = 0; i < N; i++)
			p[i] += i;
		if (broken) {
#pragma omp target update from(p[0:N]) depend(inout: p[1]) nowait
		} else {
#pragma omp target update from(p[0:N]) depend(inout: p[0], p[1]) nowait
		}
#pragma omp task depend(inout: p[1])
		target_data_x[2]++;
#pragma omp target exit data map(from: p[0:N]) depend(inout: p[0], p[1]) nowait
	}
#pragma omp target data map(tofrom: p[0:N])
	{
#pragma omp target map(p[0:N])
		p[3]++;
#pragma omp target update from(p[0:N])
	}
	printf("%d\n", broken ? 0 : target_data_x[2] + target_data_x[3]);
}

static int target_reduction_x;
PAIR(target_reduction, "target in_reduction")
{
	int sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp taskgroup task_reduction(+:sum)
		for (int i = 0; i < 4; i++) {
#pragma omp target in_reduction(+:sum) firstprivate(i) map(tofrom: target_reduction_x)
			{
				sum += i;
				if (broken)
					target_reduction_x++;
			}
#pragma omp task in_reduction(+:sum) firstprivate(i)
			{
				sum += i;
				if (broken)
					target_reduction_x++;
			}
		}
	}
	printf("%d\n", sum);
}

static int target_first_x;
PAIR(target_first, "target firstprivate, private, if(0)")
{
	int one = 1, own = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp target firstprivate(one) private(own) map(tofrom: target_first_x) nowait
		{
			own = one++;
			if (broken)
				target_first_x += own;
		}
#pragma omp target if(0) firstprivate(one)
		one++;
	}
	printf("%d %d\n", one, own);
}

#pragma omp declare target
static int target_declared_x[2];
static int target_add(int i, int v) { return target_declared_x[i] += v; }
#pragma omp end declare target
PAIR(target_declared, "declare target: variables and functions")
{
#pragma omp parallel num_threads(2)
	{
		int me = omp_get_thread_num();
#pragma omp target
		target_add(broken ? 0 : me, 2);
	}
	printf("%d\n", broken ? 0 : target_declared_x[0] + target_declared_x[1]);
}

static int target_memory_x;
PAIR(target_memory, "omp_target_alloc, omp_target_memcpy")
{
	int host = omp_get_initial_device(), from[8] = {1, 2, 3};
	int *to = omp_target_alloc(sizeof from, host);
	omp_target_memcpy(to, from, sizeof from, 0, 0, host, host);
#pragma omp parallel num_threads(2)
	{
#pragma omp target is_device_ptr(to) map(tofrom: target_memory_x)
		{
			if (to[1] != 2)
				target_memory_x = 9;
			if (broken)
				target_memory_x++;
		}
	}
	printf("%d\n", broken ? 0 : to[2] + target_memory_x);
	omp_target_free(to, host);
}
