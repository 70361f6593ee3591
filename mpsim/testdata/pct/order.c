/* Bugs of depth 2 and 3 behind stretches of work that dwarf a quantum: a
 * scheduler that lets the threads take turns never gets there. Exit status 1
 * when the bug happened. */
#include <pthread.h>
#include <stdlib.h>

enum { WORK = 2000 };

static volatile int phase, bug, depth;

static void work(int n) {
  for (int i = 0; i < n; i++)
    __asm__ volatile("");
}

/* Depth 2: it must be interrupted during its work, for all that second does. */
static void *first(void *arg) {
  phase = 1;
  work(WORK);
  if (phase == 2)
    bug = 1;
  phase = 3;
  return arg;
}

/* Depth 3: and second must be interrupted during its own. */
static void *second(void *arg) {
  work(2 * WORK);
  if (phase == 1) {
    phase = 2;
    if (depth == 3) {
      work(WORK);
      phase = 4;
    }
  }
  return arg;
}

int main(int argc, char **argv) {
  depth = argc > 1 ? atoi(argv[1]) : 2;
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return bug;
}
