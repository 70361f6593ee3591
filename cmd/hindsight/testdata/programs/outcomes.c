/* What the schedule decides: how the program ends. No data races. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int tickets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(int n) {
  for (int i = 0; i < n; i++)
    __asm__ volatile("");
}

/* The place in which thread 0 gets its ticket. */
static int place;

static void *worker(void *arg) {
  work(3000 + 2000 * (int)(long)arg);
  int mine = atomic_fetch_add(&tickets, 1);
  if (arg == 0)
    place = mine;
  return 0;
}

int main(void) {
  pthread_t t[5];
  for (long i = 0; i < 5; i++)
    pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 5; i++)
    pthread_join(t[i], 0);
  switch (place) {
  case 1:
    exit(3);
  case 2:
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
  case 3:
    *(volatile int *)8 = 0;
  case 4:
    for (;;) ;
  }
  int random = 0;
  FILE *f = fopen("/dev/urandom", "r");
  if (f && fread(&random, sizeof random, 1, f) == 1)
    printf("%d\n", random);
}
