/* A thread writes through a null pointer, three calls deep. */
#include <pthread.h>
static __attribute__((noinline)) void inner(int *p) { *p = 1; __asm__ volatile("" ::: "memory"); }
static __attribute__((noinline)) void middle(int *p) { inner(p); __asm__ volatile("" ::: "memory"); }
static void *worker(void *p) { middle(p); return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_join(t, 0);
  return 0;
}
