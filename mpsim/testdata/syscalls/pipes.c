// Pipes between threads, poll and select on them, SIGPIPE.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

static int p[2], q[2];

static void *producer(void *arg) {
  char block[5000];
  for (int i = 0; i < 60; i++) {
    memset(block, 'a' + i % 26, sizeof block);
    if (write(p[1], block, sizeof block) != sizeof block) return (void *)1;
  }
  close(p[1]);
  return NULL;
}

static void *later(void *arg) {
  usleep(2000);
  if (write(q[1], "now", 3) != 3) return (void *)1;
  return NULL;
}

int main(void) {
  pthread_t t;
  pipe(p);
  pipe(q);
  pthread_create(&t, NULL, producer, NULL);
  char buf[3000];
  unsigned long total = 0, sum = 0;
  ssize_t n;
  while ((n = read(p[0], buf, sizeof buf)) > 0) {
    total += n;
    for (int i = 0; i < n; i++) sum += (unsigned char)buf[i];
  }
  void *r;
  pthread_join(t, &r);
  printf("total %lu sum %lu end %zd producer %ld\n", total, sum, n, (long)r);

  struct pollfd fds[1] = {{q[0], POLLIN, 0}};
  printf("poll %d\n", poll(fds, 1, 0));
  printf("poll %d\n", poll(fds, 1, 3));
  pthread_create(&t, NULL, later, NULL);
  printf("poll %d", poll(fds, 1, -1));
  printf(" %x\n", fds[0].revents);
  pthread_join(t, &r);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(q[0], &set);
  struct timeval tv = {1, 0};
  printf("select %d", select(q[0] + 1, &set, NULL, NULL, &tv));
  printf(" %d\n", FD_ISSET(q[0], &set));
  printf("read %zd\n", read(q[0], buf, 100));
  fcntl(q[0], F_SETFL, O_NONBLOCK);
  n = read(q[0], buf, 1);
  printf("nonblocking %zd %s\n", n, strerror(errno));
  close(q[0]);
  signal(SIGPIPE, SIG_IGN);
  n = write(q[1], "x", 1);
  printf("no reader %zd %s\n", n, strerror(errno));
  int e = eventfd(2, EFD_SEMAPHORE);
  eventfd_t v;
  printf("eventfd %d", eventfd_read(e, &v));
  printf(" %lu", (unsigned long)v);
  eventfd_write(e, 3);
  for (int i = 0; i < 4; i++) eventfd_read(e, &v);
  fcntl(e, F_SETFL, O_NONBLOCK);
  printf(" %d %s\n", eventfd_read(e, &v), strerror(errno));
  fflush(stdout);
  signal(SIGPIPE, SIG_DFL);
  write(q[1], "x", 1);
  printf("not reached\n");
  return 0;
}
