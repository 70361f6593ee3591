/* OpenMP tasks: dependences, events, loops of tasks, copies of variables. */
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include "pair.h"

#define TEAM _Pragma("omp parallel num_threads(3)") _Pragma("omp single")

static int depobj_x[2];
PAIR(depobj, "depobj, task depend(depobj: …)")
{
	int a = 0, b = 0;
	omp_depend_t out, in;
#pragma omp depobj(out) depend(out: a)
	if (broken) {
#pragma omp depobj(in) depend(in: b)
	} else {
#pragma omp depobj(in) depend(in: a)
	}
	TEAM {
#pragma omp task depend(depobj: out)
		depobj_x[0] = 1;
#pragma omp task depend(depobj: in)
		depobj_x[1] = depobj_x[0];
	}
#pragma omp depobj(out) destroy
#pragma omp depobj(in) destroy
	printf("%d\n", broken ? 0 : depobj_x[1] + a + b);
}

static int depobj_in_x[2];
PAIR(depobj_in, "two tasks that depend on one depobj of depend(in)")
{
	int a = 0;
	omp_depend_t in;
#pragma omp depobj(in) depend(in: a)
	TEAM {
#pragma omp task depend(out: a)
		depobj_in_x[0] = depobj_in_x[1] = 1;
#pragma omp task depend(depobj: in)
		depobj_in_x[0]++;
#pragma omp task depend(depobj: in)
		depobj_in_x[broken ? 0 : 1]++;
#pragma omp task depend(inout: a)
		depobj_in_x[0] += depobj_in_x[1];
	}
#pragma omp depobj(in) destroy
	printf("%d\n", broken ? 0 : depobj_in_x[0] + a);
}

static int depobj_update_x;
PAIR(depobj_update, "depobj update, with other dependences beside it")
{
	int a = 0, b = 0;
	omp_depend_t d;
#pragma omp depobj(d) depend(in: a)
	if (!broken) {
#pragma omp depobj(d) update(inout)
	}
	TEAM
	for (int i = 0; i < 4; i++) {
#pragma omp task depend(depobj: d) depend(in: b)
		depobj_update_x = depobj_update_x * 2 + 1;
	}
#pragma omp depobj(d) destroy
	printf("%d\n", broken ? 0 : depobj_update_x + a + b);
}

static int depend_many_x[3];
PAIR(depend_many, "one task with several dependences")
{
	int a = 0, b = 0, c = 0;
	TEAM {
#pragma omp task depend(out: a)
		depend_many_x[0] = 1;
#pragma omp task depend(out: b)
		depend_many_x[1] = 2;
		if (broken) {
#pragma omp task depend(in: a) depend(out: c)
			depend_many_x[2] = depend_many_x[0] + depend_many_x[1];
		} else {
#pragma omp task depend(in: a, b) depend(out: c)
			depend_many_x[2] = depend_many_x[0] + depend_many_x[1];
		}
#pragma omp task depend(in: c)
		depend_many_x[2]++;
	}
	printf("%d\n", broken ? 0 : depend_many_x[2] + a + b + c);
}

static int depend_iterator_x[8];
PAIR(depend_iterator, "depend(iterator(…), …)")
{
	int sum = 0;
	TEAM {
		for (int i = 0; i < 8; i++) {
#pragma omp task depend(out: depend_iterator_x[i])
			depend_iterator_x[i] = i;
		}
		if (broken) {
#pragma omp task depend(iterator(k = 0 : 7), in: depend_iterator_x[k]) shared(sum)
			for (int i = 0; i < 8; i++)
				sum += depend_iterator_x[i];
		} else {
#pragma omp task depend(iterator(k = 0 : 8), in: depend_iterator_x[k]) shared(sum)
			for (int i = 0; i < 8; i++)
				sum += depend_iterator_x[i];
		}
	}
	printf("%d\n", broken ? 0 : sum);
}

static int depend_siblings_x;
PAIR(depend_siblings, "dependences order siblings, not tasks of other tasks")
{
	int token = 0;
	TEAM {
		if (broken) {
#pragma omp task shared(token)
			{
#pragma omp task depend(out: token)
				depend_siblings_x = 1;
			}
		} else {
#pragma omp task depend(out: token)
			depend_siblings_x = 1;
		}
#pragma omp task depend(in: token)
		depend_siblings_x++;
	}
	printf("%d\n", broken ? 0 : depend_siblings_x + token);
}

static int depend_undeferred_x;
PAIR(depend_undeferred, "task if(0) with a dependence")
{
	int a = 0, b = 0;
	TEAM {
#pragma omp task depend(out: a)
		depend_undeferred_x = 1;
		if (broken) {
#pragma omp task if(0) depend(in: b)
			depend_undeferred_x++;
		} else {
#pragma omp task if(0) depend(in: a)
			depend_undeferred_x++;
		}
		depend_undeferred_x++;
	}
	printf("%d\n", broken ? 0 : depend_undeferred_x + a + b);
}

static int depend_mutex_x[2];
PAIR(depend_mutex, "depend(mutexinoutset) between depend(out) and depend(in)")
{
	int a = 0;
	TEAM {
#pragma omp task depend(out: a)
		depend_mutex_x[0] = 1;
		for (int i = 0; i < 3; i++) {
#pragma omp task depend(mutexinoutset: a)
			depend_mutex_x[0] += 2;
		}
#pragma omp task depend(in: a)
		depend_mutex_x[1] = depend_mutex_x[0];
		if (broken)
			depend_mutex_x[0]++;
	}
	printf("%d\n", broken ? 0 : depend_mutex_x[1] + a);
}

static int depend_group_x;
PAIR(depend_group, "a taskgroup waits for its own tasks, not for those before it")
{
	int a = 0;
	TEAM {
#pragma omp task depend(out: a)
		depend_group_x = 1;
#pragma omp taskgroup
		{
			if (broken) {
#pragma omp task
				a++;
			} else {
#pragma omp task depend(inout: a)
				a++;
			}
		}
		depend_group_x++;
	}
	printf("%d\n", broken ? 0 : depend_group_x + a);
}

static int groups_x[3];
PAIR(groups, "taskgroups inside each other")
{
	TEAM {
#pragma omp taskgroup
		{
#pragma omp task
			groups_x[0] = 1;
#pragma omp taskgroup
			{
#pragma omp task
				groups_x[1] = 1;
			}
			groups_x[broken ? 0 : 1]++;
#pragma omp task
			groups_x[2] = groups_x[1];
		}
		groups_x[0] += groups_x[1] + groups_x[2];
	}
	printf("%d\n", broken ? 0 : groups_x[0]);
}

static int detach_x[2];
PAIR(detach, "task detach, completed by another task")
{
	int token = 0;
	TEAM {
		omp_event_handle_t event;
#pragma omp task detach(event) depend(out: token)
		detach_x[0] = 1;
#pragma omp task firstprivate(event)
		{
			if (!broken)
				detach_x[1] = 2;
			omp_fulfill_event(event);
			if (broken)
				detach_x[1] = 2;
		}
#pragma omp task depend(in: token)
		detach_x[0] += detach_x[1];
	}
	printf("%d\n", broken ? 0 : detach_x[0] + token);
}

static int detach_wait_x;
PAIR(detach_wait, "taskwait waits until a detached task's event is fulfilled")
{
	TEAM {
		omp_event_handle_t event;
#pragma omp task detach(event)
		sched_yield();
#pragma omp task firstprivate(event)
		{
#pragma omp task firstprivate(event)
			{
				detach_wait_x = 1;
				omp_fulfill_event(event);
			}
		}
		if (!broken) {
#pragma omp taskwait
		}
		detach_wait_x++;
	}
	printf("%d\n", broken ? 0 : detach_wait_x);
}

static int detach_thread_x, detach_thread_ready;
static omp_event_handle_t detach_thread_event;
static void *detach_thread(void *broken)
{
	while (!__atomic_load_n(&detach_thread_ready, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!broken)
		detach_thread_x = 1;
	omp_fulfill_event(detach_thread_event);
	if (broken)
		detach_thread_x = 1;
	return NULL;
}
PAIR(detach_thread, "an event fulfilled by a thread outside of OpenMP")
{
	pthread_t thread;
	pthread_create(&thread, NULL, detach_thread, broken ? &thread : NULL);
#pragma omp parallel num_threads(2)
#pragma omp single
	{
		omp_event_handle_t event;
#pragma omp task detach(event)
		{
			detach_thread_event = event;
			__atomic_store_n(&detach_thread_ready, 1, __ATOMIC_RELEASE);
		}
#pragma omp taskwait
		detach_thread_x++;
	}
	pthread_join(thread, NULL);
	printf("%d\n", broken ? 0 : detach_thread_x);
}

static int detach_own_x;
PAIR(detach_own, "a task that fulfills its own event; if(0) and detach")
{
	int token = 0;
	TEAM {
		omp_event_handle_t event;
#pragma omp task detach(event) depend(out: token) firstprivate(token)
		{
			if (!broken)
				detach_own_x = 1;
			omp_fulfill_event(event);
			if (!broken)
				detach_own_x++;
		}
#pragma omp task depend(in: token)
		detach_own_x++;
#pragma omp task if(0) detach(event)
		{
			if (broken)
				detach_own_x++;
			omp_fulfill_event(event);
		}
	}
	printf("%d\n", broken ? 0 : detach_own_x + token);
}

static int detach_group_x;
PAIR(detach_group, "taskgroup and barrier wait for events")
{
#pragma omp parallel num_threads(3)
	{
#pragma omp master
		{
			omp_event_handle_t event;
#pragma omp taskgroup
			{
#pragma omp task detach(event)
				sched_yield();
#pragma omp task firstprivate(event)
				{
					if (!broken)
						detach_group_x = 1;
					omp_fulfill_event(event);
				}
			}
			detach_group_x++;
#pragma omp task detach(event)
			sched_yield();
#pragma omp task firstprivate(event)
			{
				detach_group_x++;
				omp_fulfill_event(event);
			}
			if (broken)
				detach_group_x++;
		}
#pragma omp barrier
#pragma omp masked filter(1)
		detach_group_x++;
	}
	printf("%d\n", broken ? 0 : detach_group_x);
}

static int copy_array_x[4];
PAIR(copy_array, "task firstprivate of an array")
{
	TEAM {
		int own[4] = {1, 2, 3, 4};
		for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(own, i)
			{
				own[i] += 5;
				copy_array_x[broken ? 0 : i] = own[i];
			}
			own[i] = 9;
		}
	}
	printf("%d\n", broken ? 0 : copy_array_x[0] + copy_array_x[3]);
}

static int copy_vla_x[8];
__attribute__((noinline)) static void copy_vla(int n, int broken)
{
	int own[n];
	for (int i = 0; i < n; i++)
		own[i] = i;
	for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(own, i)
		{
			own[i] += 5;
			copy_vla_x[broken ? 0 : i] = own[i];
		}
		own[i] = 9;
	}
#pragma omp taskwait
}
PAIR(copy_vla, "task firstprivate of a variable-length array")
{
	TEAM copy_vla(8, broken);
	printf("%d\n", broken ? 0 : copy_vla_x[0] + copy_vla_x[7]);
}

static int copy_alone_x[8];
__attribute__((noinline)) static void copy_alone(int n, int broken)
{
	int own[n];
	for (int i = 0; i < n; i++)
		own[i] = i;
	for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(own, i)
		{
			own[i] += 5;
			copy_alone_x[broken ? 0 : i] = own[i];
		}
	}
#pragma omp taskloop firstprivate(own) num_tasks(3)
	for (int i = 0; i < n; i++)
		own[i]++;
#pragma omp taskwait
}
PAIR(copy_alone, "task and taskloop firstprivate of a variable-length array, outside of any team")
{
	if (broken) {
#pragma omp parallel num_threads(2)
#pragma omp single
		copy_alone(8, broken);
	} else
		copy_alone(8, broken);
	printf("%d\n", broken ? 0 : copy_alone_x[0] + copy_alone_x[7]);
}

static int task_frame_x;
PAIR(task_frame, "tasks with large variables of their own")
{
	TEAM
	for (int i = 0; i < 12; i++) {
#pragma omp task
		{
			char own[1 << 20];
			for (unsigned k = 0; k < sizeof own; k += 1 << 12)
				own[k] = k + i;
			__asm__("" : : "r"(own) : "memory");
			if (broken)
				task_frame_x += own[0];
		}
	}
	printf("done\n");
}

static int taskloop_forms_x[4][16];
PAIR(taskloop_forms, "taskloop collapse, lastprivate, if(0), final, priority, untied")
{
	int last = 0, sum = 0;
	TEAM {
#pragma omp taskloop collapse(2) grainsize(3) untied priority(1)
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				taskloop_forms_x[0][broken ? i : 4 * i + j] = i;
#pragma omp taskloop lastprivate(last) num_tasks(5) mergeable
		for (int i = 0; i < 16; i++) {
			taskloop_forms_x[1][i] = taskloop_forms_x[0][15 - i];
			last = i;
		}
#pragma omp taskloop if(0)
		for (int i = 0; i < 16; i++)
			taskloop_forms_x[2][i] = last;
#pragma omp taskloop final(1)
		for (unsigned long long i = 0; i < 16; i++)
			taskloop_forms_x[3][i] = taskloop_forms_x[2][i];
	}
	for (int i = 0; i < 16; i++)
		sum += taskloop_forms_x[3][i] + taskloop_forms_x[1][i];
	printf("%d\n", broken ? 0 : sum);
}

static int taskloop_masked_x[16];
PAIR(taskloop_masked, "parallel masked taskloop simd, with in_reduction and task_reduction")
{
	int sum = 0, more = 0;
#pragma omp parallel masked taskloop simd num_threads(3) num_tasks(4) reduction(+:sum)
	for (int i = 0; i < 16; i++) {
		taskloop_masked_x[broken ? i / 8 : i] = i;
		sum += i;
	}
	for (int i = 0; i < 16; i++)
		sum += taskloop_masked_x[i];
	TEAM {
#pragma omp taskgroup task_reduction(+:more)
		{
#pragma omp taskloop in_reduction(+:more) num_tasks(4)
			for (int i = 0; i < 16; i++)
				more += i;
#pragma omp task in_reduction(+:more)
			more++;
		}
	}
	printf("%d\n", broken ? 0 : sum + more);
}

static int taskloop_nest_x[64];
PAIR(taskloop_nest, "a taskloop in tasks; taskloop of more tasks than are deferred")
{
	int sum = 0;
	TEAM {
		for (int t = 0; t < 4; t++) {
#pragma omp task firstprivate(t)
			{
#pragma omp taskloop num_tasks(4)
				for (int i = 0; i < 16; i++)
					taskloop_nest_x[broken ? 0 : 16 * t + i] = i;
			}
		}
#pragma omp taskwait
#pragma omp taskloop num_tasks(1000)
		for (int i = 0; i < 1000; i++) {
#pragma omp atomic
			sum += taskloop_nest_x[i & 63];
		}
	}
	printf("%d\n", broken ? 0 : sum);
}

static int task_regions_x;
PAIR(task_regions, "tasks made by all threads of a team, in regions one after another")
{
	for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(3)
		{
#pragma omp task
			{
				if (broken || omp_get_num_threads() == 1) {
					task_regions_x++;
				} else {
#pragma omp critical
					task_regions_x++;
				}
			}
#pragma omp taskwait
		}
		task_regions_x++;
	}
	printf("%d\n", broken ? 0 : task_regions_x);
}

static int task_nested_x[2];
PAIR(task_nested, "a parallel region in a task")
{
	omp_set_max_active_levels(2);
	TEAM
	for (int t = 0; t < 2; t++) {
#pragma omp task firstprivate(t)
		{
			int sum = 0;
#pragma omp parallel num_threads(2) reduction(+:sum)
			{
#pragma omp for
				for (int i = 0; i < 8; i++)
					sum += i;
#pragma omp single
				task_nested_x[broken ? 0 : t]++;
			}
			task_nested_x[broken ? 0 : t] += sum;
		}
	}
	printf("%d\n", broken ? 0 : task_nested_x[0] + task_nested_x[1]);
}

static int task_affinity_x;
PAIR(task_affinity, "task affinity, in sections")
{
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		{
#pragma omp task affinity(task_affinity_x)
			task_affinity_x++;
			if (!broken) {
#pragma omp taskwait
			}
			task_affinity_x++;
		}
#pragma omp section
		{
		}
	}
	printf("%d\n", broken ? 0 : task_affinity_x);
}

static int reductions_x;
PAIR(reductions, "for, sections and scope with reduction(task, …)")
{
	int sum = 0, product = 0, scope = 0;
#pragma omp parallel num_threads(3)
	{
#pragma omp for reduction(task, +:sum)
		for (int i = 0; i < 6; i++) {
#pragma omp task in_reduction(+:sum)
			{
				sum += i;
				if (broken)
					reductions_x++;
			}
		}
		if (sum != 15)
			printf("sum %d\n", sum);
#pragma omp sections reduction(task, +:product)
		{
#pragma omp section
#pragma omp task in_reduction(+:product)
			product += 2;
#pragma omp section
#pragma omp task in_reduction(+:product)
			product += 3;
		}
#pragma omp scope reduction(task, +:scope)
		{
#pragma omp task in_reduction(+:scope)
			scope++;
		}
		if (product + scope != 8)
			printf("product %d scope %d\n", product, scope);
	}
	printf("%d\n", sum + product + scope);
}

static int reduction_group_x;
PAIR(reduction_group, "taskgroups with reductions inside each other, deep tasks")
{
	int sum = 0;
	TEAM {
#pragma omp taskgroup task_reduction(+:sum)
		{
			for (int i = 0; i < 3; i++) {
#pragma omp task in_reduction(+:sum) firstprivate(i)
				{
#pragma omp task in_reduction(+:sum) firstprivate(i)
					{
						sum += i;
						if (broken)
							reduction_group_x++;
					}
#pragma omp taskgroup
					{
#pragma omp task in_reduction(+:sum)
						sum++;
					}
					sum += i;
				}
			}
		}
		sum++;
	}
	printf("%d\n", sum);
}

static int yield_x;
PAIR(yield, "locks in tasks, taskyield while one waits")
{
	omp_lock_t lock;
	omp_init_lock(&lock);
	TEAM
	for (int i = 0; i < 6; i++) {
#pragma omp task
		{
			while (!omp_test_lock(&lock)) {
#pragma omp taskyield
			}
			if (!broken)
				yield_x++;
			omp_unset_lock(&lock);
			if (broken)
				yield_x++;
		}
	}
	omp_destroy_lock(&lock);
	printf("%d\n", broken ? 0 : yield_x);
}
