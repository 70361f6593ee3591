// Takes all the memory there is: by malloc, which says no, and by touching
// memory that was only reserved, which ends the run.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
  long blocks = 0;
  void *p;
  while ((p = malloc(100000))) memset(p, 1, 100000), blocks++;
  printf("malloc failed after %d MB\n", (int)(blocks / 10 / 10 * 10));
  fflush(stdout);
  if (argc > 1) {
    char *r = mmap(NULL, 1l << 34, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r == MAP_FAILED) return 3;
    for (long i = 0; i < 1l << 34; i += 4096) r[i] = 1;
    return 4;
  }
  return 5;
}
