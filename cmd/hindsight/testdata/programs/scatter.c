/* Two threads that touch memory without any pattern, for ever: traces of it
 * have many epochs. They race. */
#include <pthread.h>
#include <stdint.h>

static uint32_t table[1 << 16];

static void *worker(void *arg) {
  uint32_t x = (uint32_t)(uintptr_t)arg;
  for (;;) {
    x = x * 1664525 + 1013904223;
    table[x >> 16] += x;
  }
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, (void *)1);
  pthread_create(&b, 0, worker, (void *)2);
  pthread_join(a, 0);
}
