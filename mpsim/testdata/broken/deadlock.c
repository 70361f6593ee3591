/* Two threads take two mutexes in opposite orders. */
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *left(void *p) {
  pthread_mutex_lock(&a);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&b);
  return p;
}
static void *right(void *p) {
  pthread_mutex_lock(&b);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&a);
  return p;
}
int main(void) {
  pthread_t t[2];
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&t[0], 0, left, 0);
  pthread_create(&t[1], 0, right, 0);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  return 0;
}
