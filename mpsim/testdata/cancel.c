/* A thread is cancelled while it waits; its cleanup handler runs. A long jump
   out of a comparison function of qsort, and setjmp around calls of malloc. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int waiting;
int cleaned;
static jmp_buf env;
void cleanup(void *p) {
  cleaned += 2;
  pthread_mutex_unlock(p);
}
static void *worker(void *p) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(cleanup, &mutex);
  waiting = 1;
  for (;;) pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(1);
  return p;
}
static int jump(const void *a, const void *b) {
  (void)a, (void)b;
  longjmp(env, 3);
}
int main(void) {
  pthread_t t;
  void *result;
  pthread_create(&t, 0, worker, 0);
  for (int seen = 0; !seen;) {
    pthread_mutex_lock(&mutex);
    seen = waiting;
    pthread_mutex_unlock(&mutex);
  }
  pthread_cancel(t);
  pthread_join(t, &result);
  printf("%d %d\n", cleaned, result == PTHREAD_CANCELED);
  int v[4] = {4, 3, 2, 1};
  int j = setjmp(env);
  if (!j) qsort(v, 4, sizeof *v, jump);
  printf("%d\n", j);
  return 0;
}
