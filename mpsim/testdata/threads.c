/* Mutexes, condition variables, barriers, semaphores, rwlocks, once, TLS. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>
#include <errno.h>
#define N 4
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static __thread int mine = 7;
static int counter, ready, inits, slot[N], sum[N];
static void init(void) { inits++; }
static void *worker(void *arg) {
  long id = (long)arg;
  pthread_once(&once, init);
  mine += id;
  for (int i = 0; i < 500; i++) {
    pthread_mutex_lock(&mutex);
    counter++;
    pthread_mutex_unlock(&mutex);
  }
  for (int round = 0; round < 10; round++) {
    slot[id] = round * N + id;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < N; i++) sum[id] += slot[i];
    pthread_barrier_wait(&barrier);
  }
  pthread_rwlock_rdlock(&rw);
  int v = counter;
  pthread_rwlock_unlock(&rw);
  pthread_rwlock_wrlock(&rw);
  counter += v >= 500;
  pthread_rwlock_unlock(&rw);
  pthread_mutex_lock(&mutex);
  ready++;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  sem_wait(&sem);
  char *p = malloc(1000 + id * 100);
  memset(p, (int)id + 'a', 1000 + id * 100);
  p[10] = 0;
  return p + 0 * mine;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&barrier, 0, N);
  sem_init(&sem, 0, 0);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)i);
  pthread_mutex_lock(&mutex);
  while (ready < N) pthread_cond_wait(&cond, &mutex);
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  ts.tv_nsec += 1000000;
  if (ts.tv_nsec >= 1000000000) ts.tv_sec++, ts.tv_nsec -= 1000000000;
  int e = 0;
  while (!e) e = pthread_cond_timedwait(&cond, &mutex, &ts);
  printf("timed out: %d\n", e == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < N; i++) sem_post(&sem);
  for (int i = 0; i < N; i++) {
    char *s;
    pthread_join(t[i], (void **)&s);
    printf("%s %d\n", s, sum[i]);
    free(s);
  }
  printf("%d %d %d\n", counter, inits, mine);
  usleep(1000);
  return 3;
}
