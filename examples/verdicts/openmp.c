/*
 * Races of OpenMP programs with a label, as in verdicts.c.
 *
 *   openmp NAME
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE(name, label) static void name##_case(void)

static volatile int lost_sum;
CASE(lost_sum, harmful);
static void lost_sum_case(void)
{
#pragma omp parallel for num_threads(3)
	for (int i = 0; i < 9; i++)
		lost_sum += i;
	printf("%d\n", lost_sum);
}

static volatile int team_size;
CASE(team_size, no_difference);
static void team_size_case(void)
{
#pragma omp parallel num_threads(3)
	team_size = omp_get_num_threads();
	printf("%d\n", team_size);
}

static volatile int best = -1;
CASE(best, harmful);
static void best_case(void)
{
#pragma omp parallel for num_threads(2)
	for (int i = 7; i < 9; i++)
		if (i > best)
			best = i;
	printf("%d\n", best);
}

static volatile int visits;
CASE(visits, state_differs);
static void visits_case(void)
{
#pragma omp parallel num_threads(2)
	visits++;
}

static volatile int last_task;
CASE(last_task, harmful);
static void last_task_case(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single nowait
	{
#pragma omp task
		last_task = 1;
#pragma omp task
		last_task = 2;
	}
	exit(last_task);
}

static volatile int found;
CASE(found, no_difference);
static void found_case(void)
{
	static const int in[8] = {3, 9, 4, 9, 1, 9, 2, 9};

#pragma omp parallel for num_threads(2)
	for (int i = 0; i < 8; i++)
		if (in[i] == 9 && !found)
			found = 1;
	printf("%s\n", found ? "found" : "not found");
}

#define NAMED(name) {#name, name##_case}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	NAMED(lost_sum), NAMED(team_size), NAMED(best), NAMED(visits), NAMED(last_task), NAMED(found),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	return 0;
}
