// Teams, reductions, tasks, critical sections and nested parallelism.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 8)
  a = fib(n - 1);
#pragma omp task shared(b) if (n > 8)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 4;
  omp_set_num_threads(n);
  printf("threads %d dynamic %d\n", omp_get_max_threads(), omp_get_dynamic());
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7)
  for (int i = 0; i < 1000; i++) sum += i * 0.5;
  printf("sum %g\n", sum);
  int count = 0, singles = 0, last = -1;
#pragma omp parallel
  {
#pragma omp critical
    count++;
#pragma omp barrier
#pragma omp single
    singles++;
#pragma omp for ordered
    for (int i = 0; i < 20; i++) {
#pragma omp ordered
      last = i;
    }
  }
  printf("count %d singles %d last %d\n", count, singles, last);
  long f;
#pragma omp parallel
#pragma omp single
  f = fib(16);
  printf("fib %ld\n", f);
  int inner = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
  inner++;
  printf("nested %d\n", inner);
  omp_lock_t l;
  omp_init_lock(&l);
  int x = 0;
#pragma omp parallel
  for (int i = 0; i < 100; i++) {
    omp_set_lock(&l);
    x++;
    omp_unset_lock(&l);
  }
  printf("locked %d time %d\n", x, omp_get_wtime() > 0);
  return 0;
}
