// An interval timer interrupts computing, in several threads, and nothing of
// the computation is lost; poll and read are interrupted or repeated.
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t hits;
static volatile double junk = 1;
static int p[2];

static void tick(int sig) {
  hits++;
  junk = sqrt(junk + 3) * 1.25;
  if (hits == 40) write(p[1], "!", 1);
}

static double work(void) {
  double x = 0.5;
  unsigned long h = 1;
  for (int i = 1; i < 3000; i++) {
    x = x * 3.7 * (1 - x) + 1e-9 * (h & 7);
    h = h * 6364136223846793005ul + i;
  }
  return x + (h >> 40);
}

static void *same(void *arg) {
  double first = work();
  long bad = 0;
  do
    if (work() != first) bad++;
  while (hits < 20);
  return (void *)bad;
}

int main(void) {
  pipe(p);
  struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &sa, NULL);
  struct itimerval it = {{0, 1000}, {0, 1000}}, now;
  setitimer(ITIMER_REAL, &it, NULL);
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, same, NULL);
  long bad = (long)same(NULL);
  for (int i = 0; i < 3; i++) {
    void *r;
    pthread_join(t[i], &r);
    bad += (long)r;
  }
  printf("bad %ld\n", bad);
  struct pollfd f = {0, 0, 0};
  int r = poll(&f, 0, 1000000);
  printf("poll %d %s\n", r, strerror(errno));
  char c = 0;
  hits = 30;
  r = read(p[0], &c, 1);
  printf("read %d %c\n", r, c);
  getitimer(ITIMER_REAL, &now);
  printf("interval %ld\n", (long)now.it_interval.tv_usec);
  memset(&it, 0, sizeof it);
  setitimer(ITIMER_REAL, &it, NULL);
  int before = hits;
  usleep(5000);
  printf("stopped %d\n", hits == before);
  clock_t c0 = clock();
  usleep(300000);
  printf("sleeping is not computing %d\n", clock() - c0 < CLOCKS_PER_SEC / 10);
  return 0;
}
