// Races between OpenMP tasks and threads of a team that most runs hide behind the
// order of a lock, and correct twins.
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int data, first, other;
static omp_lock_t lock;

static void work(int n) {
  for (volatile int i = 0; i < n; i++)
    ;
}

static void enter(int *count) {
  omp_set_lock(&lock);
  ++*count;
  omp_unset_lock(&lock);
}

#define TASKS(name) static void name(void)
#define ALONE _Pragma("omp parallel num_threads(2)") _Pragma("omp single")

TASKS(race_hidden) {
  ALONE {
#pragma omp task
    { data = 1; enter(&first); }
#pragma omp task
    { enter(&other); data = 2; }
  }
}

TASKS(race_critical) {
  ALONE {
#pragma omp task
    {
      data = 1;
#pragma omp critical
      first++;
    }
#pragma omp task
    {
#pragma omp critical
      other++;
      data = 2;
    }
  }
}

TASKS(race_many) {
  ALONE
  for (int i = 0; i < 6; i++) {
#pragma omp task
    {
      if (i == 0) data = 1;
      enter(i % 2 ? &first : &other);
      if (i == 5) data = 2;
    }
  }
}

TASKS(race_team) {
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    if (me == 1) { data = 1; enter(&first); }
    if (me == 2) { work(3000); enter(&other); data = 2; }
  }
}

TASKS(race_sections) {
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    { data = 1; enter(&first); work(2000); }
#pragma omp section
    { work(500); enter(&other); data = 2; }
  }
}

TASKS(norace_depend) {
  ALONE {
#pragma omp task depend(out: data)
    { data = 1; enter(&first); }
#pragma omp task depend(inout: data)
    { enter(&other); data = 2; }
  }
}

TASKS(norace_taskwait) {
  ALONE {
#pragma omp task
    { data = 1; enter(&first); }
#pragma omp taskwait
#pragma omp task
    { enter(&other); data = 2; }
  }
}

TASKS(norace_group) {
  ALONE {
#pragma omp taskgroup
    {
#pragma omp task
      { data = 1; enter(&first); }
    }
#pragma omp task
    { enter(&other); data = 2; }
  }
}

TASKS(norace_barrier) {
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    if (me == 1) { data = 1; enter(&first); }
#pragma omp barrier
    if (me == 2) { enter(&other); data = 2; }
  }
}

TASKS(norace_undeferred) {
  ALONE {
#pragma omp task if (0)
    { data = 1; enter(&first); }
#pragma omp task
    { enter(&other); data = 2; }
  }
}

int main(int argc, char **argv) {
  omp_init_lock(&lock);
#define RUN(name) if (argc > 1 && !strcmp(argv[1], #name)) name();
  RUN(race_hidden) RUN(race_critical) RUN(race_many) RUN(race_team) RUN(race_sections)
  RUN(norace_depend) RUN(norace_taskwait) RUN(norace_group) RUN(norace_barrier) RUN(norace_undeferred)
  printf("%d %d\n", first, other);
}
