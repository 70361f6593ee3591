/* Many events in little time; what is printed depends on their order. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order;

static void *worker(void *arg) {
  for (int i = 0; i < 8000; i++) {
    pthread_mutex_lock(&lock);
    order = order * 31 + (uint64_t)(uintptr_t)arg;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++)
    pthread_create(&t[i], 0, worker, (void *)(i + 1));
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  printf("%llu\n", (unsigned long long)order);
}
