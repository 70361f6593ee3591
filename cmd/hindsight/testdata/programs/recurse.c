/* Calls itself without end, in the thread that the argument says. */
#include <pthread.h>

static volatile int zero;

__attribute__((noinline)) int deeper(int n) {
  char room[64];
  room[n & 63] = (char)n;
  return deeper(n + 1) + room[zero];
}

static void *worker(void *arg) {
  deeper(0);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;
  if (argc == 1)
    return deeper(0);
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
}
