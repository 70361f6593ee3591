/* Threads that spin for what another does, in every way that there is. Ends
 * well under any scheduler that starves none. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 20 };

static volatile int plain;
static atomic_int acquire, relaxed, yielding;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static pthread_spinlock_t spin;
static int cas, sum;

static void *worker(void *arg) {
  int me = (int)(long)arg;
  for (int round = 0; round < ROUNDS; round++) {
    int turn = round * THREADS + me;
    while (plain != turn) ;
    plain = turn + 1;
    while (atomic_load_explicit(&acquire, memory_order_acquire) != turn) ;
    atomic_store_explicit(&acquire, turn + 1, memory_order_release);
    while (atomic_load_explicit(&relaxed, memory_order_relaxed) != turn) ;
    atomic_store_explicit(&relaxed, turn + 1, memory_order_relaxed);
    while (atomic_load(&yielding) != turn)
      sched_yield();
    atomic_store(&yielding, turn + 1);
    for (int expected = turn;; expected = turn)
      if (__atomic_compare_exchange_n(&cas, &expected, turn + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        break;
    while (atomic_flag_test_and_set(&lock)) ;
    pthread_spin_lock(&spin);
    sum++;
    pthread_spin_unlock(&spin);
    atomic_flag_clear(&lock);
  }
  return 0;
}

int main(void) {
  pthread_t t[THREADS];
  pthread_spin_init(&spin, 0);
  for (long i = 0; i < THREADS; i++)
    pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(t[i], 0);
  printf("%d\n", sum);
  return sum != THREADS * ROUNDS;
}
