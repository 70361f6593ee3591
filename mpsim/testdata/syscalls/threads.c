// Condition variables with timeouts, robust and priority-inheriting mutexes,
// thread-local storage, cancellation, sleeping.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, robust, pi;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t bar;
static int turn, total;
static __thread int mine = 5;

static void *ring(void *arg) {
  int id = (int)(long)arg;
  mine += id;
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&m);
    while (turn % 4 != id) pthread_cond_wait(&c, &m);
    turn++;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
  }
  pthread_barrier_wait(&bar);
  for (int i = 0; i < 20; i++) {
    pthread_mutex_lock(&pi);
    total += mine;
    sched_yield();
    pthread_mutex_unlock(&pi);
  }
  return (void *)(long)mine;
}

static void *dies(void *arg) {
  pthread_mutex_lock(&robust);
  return NULL;
}

static void cleanup(void *arg) { printf("cleanup %s\n", (char *)arg); }
static void *cancelled(void *arg) {
  pthread_cleanup_push(cleanup, "handler");
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

static void destroy(void *p) { __atomic_add_fetch((int *)p, 1, __ATOMIC_SEQ_CST); }

static void *keyed(void *arg) {
  pthread_key_t *k = arg;
  static int x;
  pthread_setspecific(*k, &x);
  return &x;
}

int main(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &a);
  pthread_mutexattr_init(&a);
  printf("protocol %d\n", pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
  pthread_mutex_init(&pi, &a);
  pthread_barrier_init(&bar, NULL, 4);
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, ring, (void *)i);
  long sum = 0;
  for (int i = 0; i < 4; i++) {
    void *r;
    pthread_join(t[i], &r);
    sum += (long)r;
  }
  printf("turn %d sum %ld total %d mine %d\n", turn, sum, total, mine);

  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  ts.tv_nsec += 3000000;
  if (ts.tv_nsec >= 1000000000) ts.tv_sec++, ts.tv_nsec -= 1000000000;
  pthread_mutex_lock(&m);
  printf("timedwait %s\n", strerror(pthread_cond_timedwait(&c, &m, &ts)));
  pthread_mutex_unlock(&m);
  sem_t s;
  sem_init(&s, 0, 0);
  printf("sem_timedwait %d %s\n", sem_timedwait(&s, &ts), strerror(errno));

  pthread_create(&t[0], NULL, dies, NULL);
  pthread_join(t[0], NULL);
  int e = pthread_mutex_lock(&robust);
  printf("robust %s consistent %d unlock %d\n", strerror(e), pthread_mutex_consistent(&robust),
         pthread_mutex_unlock(&robust));

  pthread_create(&t[0], NULL, cancelled, NULL);
  usleep(10000);
  pthread_cancel(t[0]);
  void *r;
  pthread_join(t[0], &r);
  printf("cancelled %d\n", r == PTHREAD_CANCELED);

  pthread_key_t key;
  pthread_key_create(&key, destroy);
  pthread_create(&t[0], NULL, keyed, &key);
  pthread_join(t[0], &r);
  printf("destructors %d\n", *(int *)r);

  struct timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  usleep(5000);
  clock_gettime(CLOCK_MONOTONIC, &t1);
  long ns = (t1.tv_sec - t0.tv_sec) * 1000000000L + t1.tv_nsec - t0.tv_nsec;
  printf("slept %d\n", ns >= 5000000);
  pthread_attr_t at;
  pthread_getattr_np(pthread_self(), &at);
  void *low;
  size_t size;
  pthread_attr_getstack(&at, &low, &size);
  printf("stack of main %d\n", (char *)&at > (char *)low && (char *)&at < (char *)low + size);
  printf("fork %d\n", 1);
  printf("syscall %ld %s\n", syscall(9999), strerror(errno));
  printf("self %d\n", syscall(SYS_gettid) == getpid());
  char name[16] = "";
  pthread_setname_np(pthread_self(), "renamed");
  pthread_getname_np(pthread_self(), name, sizeof name);
  printf("name %s\n", name);
  pthread_exit(NULL);
}
