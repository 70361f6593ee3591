/* C11 atomics of each width and order, and a lock made of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#define N 4
static atomic_int count, flag, lock;
static _Atomic long total;
static _Atomic unsigned char bytes[8];
static _Atomic short half;
static atomic_uint bitsum;
static long plain;
static void *worker(void *arg) {
  long id = (long)arg;
  for (int i = 0; i < 300; i++) {
    atomic_fetch_add(&count, 1);
    atomic_fetch_add_explicit(&total, i * id, memory_order_relaxed);
    bytes[id]++;
    atomic_fetch_add(&half, 3);
    atomic_fetch_or_explicit(&bitsum, 1u << (i & 31), memory_order_release);
    atomic_fetch_xor(&bitsum, 0);
    int expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&lock, &expected, 1, memory_order_acquire, memory_order_relaxed)) expected = 0;
    plain++;
    atomic_store_explicit(&lock, 0, memory_order_release);
  }
  return 0;
}
static int message;
static void *sender(void *arg) {
  (void)arg;
  message = 42;
  atomic_store_explicit(&flag, 1, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t[N], s;
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  pthread_create(&s, 0, sender, 0);
  while (!atomic_load_explicit(&flag, memory_order_acquire)) ;
  printf("%d %d %ld %d %d %x %ld\n", message, count, total, bytes[1], half, bitsum, plain);
  pthread_join(s, 0);
  atomic_int x = 5;
  printf("%d %d %d\n", atomic_exchange(&x, 9), atomic_fetch_sub(&x, 4), atomic_fetch_and(&x, 4));
  int want = 77;
  printf("%d %d\n", atomic_compare_exchange_strong(&x, &want, 1), want);
  return 0;
}
