/* Starts threads that wait for ever, and does not look at what it is told. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait(void *arg) {
  pthread_mutex_lock(&lock);
  return arg;
}

int main(void) {
  pthread_t t;
  pthread_mutex_lock(&lock);
  for (;;)
    pthread_create(&t, 0, wait, 0);
}
