/* OpenMP tasks. Two tasks that nothing orders race, on whichever thread they run. */
#include <omp.h>

#include "pair.h"

/* team runs the block that follows in one thread of a team of three. */
#define TEAM _Pragma("omp parallel num_threads(3)") _Pragma("omp single")

static int task_x[2];
PAIR(task, "task: two tasks")
{
	TEAM {
#pragma omp task
		task_x[0]++;
#pragma omp task
		task_x[broken ? 0 : 1]++;
	}
	printf("%d\n", broken ? 0 : task_x[0] + task_x[1]);
}

static int task_alone_x[2];
PAIR(task_alone, "task: two tasks in a team of one thread")
{
#pragma omp parallel num_threads(1)
	{
#pragma omp task
		task_alone_x[0]++;
#pragma omp task
		task_alone_x[broken ? 0 : 1]++;
	}
	printf("%d\n", task_alone_x[0] + task_alone_x[1]);
}

static int task_creator_x;
PAIR(task_creator, "task and the code after it")
{
	TEAM {
		task_creator_x = 1;
#pragma omp task
		task_creator_x++;
		if (broken)
			task_creator_x++;
	}
	task_creator_x++;
	printf("%d\n", broken ? 0 : task_creator_x);
}

static int taskwait_x;
PAIR(taskwait, "taskwait")
{
	TEAM {
#pragma omp task
		taskwait_x++;
		if (!broken) {
#pragma omp taskwait
		}
		taskwait_x++;
	}
	printf("%d\n", broken ? 0 : taskwait_x);
}

static int taskwait_deep_x;
PAIR(taskwait_deep, "taskwait waits for children, not for their children")
{
	TEAM {
#pragma omp task
		{
#pragma omp task
			taskwait_deep_x++;
			if (!broken) {
#pragma omp taskwait
			}
		}
#pragma omp taskwait
		taskwait_deep_x++;
	}
	printf("%d\n", broken ? 0 : taskwait_deep_x);
}

static int taskgroup_x;
PAIR(taskgroup, "taskgroup waits for descendants")
{
	TEAM {
		if (broken) {
#pragma omp task
			{
#pragma omp task
				taskgroup_x++;
			}
		} else {
#pragma omp taskgroup
			{
#pragma omp task
				{
#pragma omp task
					taskgroup_x++;
				}
			}
		}
		taskgroup_x++;
	}
	printf("%d\n", broken ? 0 : taskgroup_x);
}

static int task_barrier_x;
PAIR(task_barrier, "a barrier waits for all tasks")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp single nowait
		{
#pragma omp task
			task_barrier_x++;
		}
		if (!broken) {
#pragma omp barrier
		}
#pragma omp master
		task_barrier_x++;
	}
	printf("%d\n", broken ? 0 : task_barrier_x);
}

static int depend_x;
PAIR(depend, "task depend(in), depend(out)")
{
	int token __attribute__((unused)) = 0;
	TEAM {
#pragma omp task depend(out: token)
		depend_x = 1;
#pragma omp task depend(in: token)
		if (depend_x == 50)
			printf("fifty\n");
		if (broken) {
#pragma omp task
			depend_x++;
		} else {
#pragma omp task depend(inout: token)
			depend_x++;
		}
	}
	printf("%d\n", depend_x);
}

static int depend_in_x[2];
PAIR(depend_in, "two tasks that depend(in) on one")
{
	int token __attribute__((unused)) = 0;
	TEAM {
#pragma omp task depend(out: token)
		depend_in_x[0] = depend_in_x[1] = 1;
#pragma omp task depend(in: token)
		depend_in_x[0]++;
#pragma omp task depend(in: token)
		depend_in_x[broken ? 0 : 1]++;
	}
	printf("%d\n", broken ? 0 : depend_in_x[0] + depend_in_x[1]);
}

static int depend_chain_x;
PAIR(depend_chain, "a chain of depend(inout)")
{
	int token = 0, other = 0;
	TEAM
	for (int i = 0; i < 8; i++) {
		int *t = broken && i % 2 ? &other : &token;
#pragma omp task depend(inout: *t) firstprivate(i)
		depend_chain_x = depend_chain_x * 2 + i;
	}
	printf("%d\n", broken ? 0 : depend_chain_x);
}

static int mutexinoutset_x;
PAIR(mutexinoutset, "depend(mutexinoutset)")
{
	int token __attribute__((unused)) = 0;
	TEAM
	for (int i = 0; i < 4; i++) {
		if (broken) {
#pragma omp task
			mutexinoutset_x++;
		} else {
#pragma omp task depend(mutexinoutset: token)
			mutexinoutset_x++;
		}
	}
	printf("%d\n", broken ? 0 : mutexinoutset_x);
}

static int taskwait_depend_x[2];
PAIR(taskwait_depend, "taskwait depend")
{
	int a __attribute__((unused)) = 0, b __attribute__((unused)) = 0;
	TEAM {
#pragma omp task depend(out: a)
		taskwait_depend_x[0]++;
#pragma omp task depend(out: b)
		taskwait_depend_x[1]++;
#pragma omp taskwait depend(in: a)
		taskwait_depend_x[broken ? 1 : 0]++;
	}
	printf("%d\n", broken ? 0 : taskwait_depend_x[0] + taskwait_depend_x[1]);
}

static int undeferred_x;
PAIR(undeferred, "task if(0) is waited for")
{
	TEAM {
#pragma omp task if(broken)
		undeferred_x++;
		undeferred_x++;
	}
	printf("%d\n", broken ? 0 : undeferred_x);
}

static int final_x;
PAIR(final, "final: its tasks are included")
{
	TEAM {
#pragma omp task final(!broken)
		{
#pragma omp task
			final_x++;
			final_x++;
		}
	}
	printf("%d\n", broken ? 0 : final_x);
}

static int taskloop_x[8];
PAIR(taskloop, "taskloop")
{
	TEAM {
#pragma omp taskloop grainsize(2)
		for (int i = 0; i < 8; i++)
			taskloop_x[broken ? 0 : i] = i;
		taskloop_x[7]++;
	}
	printf("%d\n", broken ? 0 : taskloop_x[7]);
}

static int taskloop_nogroup_x[8];
PAIR(taskloop_nogroup, "taskloop nogroup")
{
	TEAM {
#pragma omp taskloop nogroup num_tasks(4)
		for (int i = 0; i < 8; i++)
			taskloop_nogroup_x[i] = i;
		if (!broken) {
#pragma omp taskwait
		}
		taskloop_nogroup_x[7]++;
	}
	printf("%d\n", broken ? 0 : taskloop_nogroup_x[7]);
}

static int taskloop_reduction_x;
PAIR(taskloop_reduction, "taskloop reduction")
{
	int sum = 0;
	TEAM {
#pragma omp taskloop reduction(+:sum) num_tasks(4)
		for (int i = 0; i < 16; i++) {
			sum += i;
			if (broken)
				taskloop_reduction_x += i;
		}
	}
	printf("%d\n", sum);
}

static int in_reduction_x;
PAIR(in_reduction, "taskgroup task_reduction, task in_reduction")
{
	int sum = 0;
	TEAM {
#pragma omp taskgroup task_reduction(+:sum)
		for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+:sum) firstprivate(i)
			{
				sum += i;
				if (broken)
					in_reduction_x += i;
			}
		}
	}
	printf("%d\n", sum);
}

static int reduction_task_x;
PAIR(reduction_task, "parallel reduction(task, +)")
{
	int sum = 0;
#pragma omp parallel num_threads(3) reduction(task, +:sum)
	{
#pragma omp task in_reduction(+:sum)
		{
			sum++;
			if (broken)
				reduction_task_x++;
		}
	}
	printf("%d\n", sum);
}

static int task_critical_x;
PAIR(task_critical, "critical in tasks")
{
	TEAM
	for (int i = 0; i < 4; i++) {
#pragma omp task
		if (broken) {
			task_critical_x++;
		} else {
#pragma omp critical
			task_critical_x++;
		}
	}
	printf("%d\n", broken ? 0 : task_critical_x);
}

static int fib_x;
static int fib(int n, int broken)
{
	int a, b;
	if (broken)
		fib_x++;
	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1, broken);
#pragma omp task shared(b)
	b = fib(n - 2, broken);
#pragma omp taskwait
	return a + b;
}
PAIR(fib, "recursive tasks with results on the stack")
{
	int v = 0;
	TEAM v = fib(7, broken);
	printf("%d\n", v);
}

static int task_stack_x;
PAIR(task_stack, "a task that shares a variable of a frame")
{
	TEAM {
		int local = 1;
#pragma omp task shared(local)
		{
			local++;
			if (broken)
				task_stack_x++;
		}
#pragma omp task
		if (broken)
			task_stack_x++;
#pragma omp taskwait
		local++;
	}
	printf("done\n");
}

static int priority_x[2];
PAIR(priority, "task priority, untied, mergeable, taskyield")
{
	TEAM {
#pragma omp task priority(1) untied
		{
			priority_x[0]++;
#pragma omp taskyield
			priority_x[0]++;
		}
#pragma omp task priority(2) mergeable
		priority_x[broken ? 0 : 1]++;
	}
	printf("%d\n", broken ? 0 : priority_x[0] + priority_x[1]);
}

static int task_private_x;
static int task_private_own;
#pragma omp threadprivate(task_private_own)
PAIR(task_private, "threadprivate variables in tasks")
{
	TEAM
	for (int i = 0; i < 8; i++) {
#pragma omp task
		{
			task_private_own++;
			if (broken)
				task_private_x++;
		}
	}
	printf("done\n");
}

static int many_tasks_x[300];
PAIR(many_tasks, "more tasks than the runtime defers")
{
	int sum = 0;
	TEAM
	for (int i = 0; i < 300; i++) {
#pragma omp task firstprivate(i)
		many_tasks_x[broken ? i / 2 : i] = 1;
	}
	for (int i = 0; i < 300; i++)
		sum += many_tasks_x[i];
	printf("%d\n", broken ? 0 : sum);
}

static int cancel_group_x;
PAIR(cancel_group, "cancel taskgroup")
{
	TEAM {
#pragma omp taskgroup
		{
#pragma omp task
			{
#pragma omp cancel taskgroup
				if (broken)
					cancel_group_x++;
			}
#pragma omp task
			if (broken)
				cancel_group_x++;
		}
		if (!broken)
			cancel_group_x++;
	}
	printf("%d\n", broken ? 0 : cancel_group_x);
}

static int task_serial_x;
static void task_serial(int n)
{
	for (int i = 0; i < n; i++) {
#pragma omp task
		task_serial_x++;
	}
#pragma omp taskloop num_tasks(3)
	for (int i = 0; i < n; i++)
		task_serial_x++;
}
PAIR(task_serial, "tasks outside of any parallel region")
{
	if (broken) {
#pragma omp parallel num_threads(2)
#pragma omp single
		task_serial(4);
	} else
		task_serial(4);
	printf("%d\n", broken ? 0 : task_serial_x);
}
