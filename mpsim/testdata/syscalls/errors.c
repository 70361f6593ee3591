// System calls with wrong and odd arguments: their error numbers. Calls on which
// qemu-user departs from Linux are left out (pipe2, nanosleep and clone3 of bad
// arguments, MAP_FIXED_NOREPLACE, mprotect and mremap to nothing, madvise of a hole).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BAD ((void *)0x60)
#define SHOW(name, ...)                                                             \
  do {                                                                              \
    errno = 0;                                                                      \
    long r = syscall(SYS_##name, __VA_ARGS__);                                      \
    printf("%d " #name "(" #__VA_ARGS__ ") = %ld %s\n", __LINE__, r, r < 0 ? strerrorname_np(errno) : ""); \
  } while (0)

static char buf[8192];
static int word = 5, other;

int main(void) {
  struct timespec ts = {0, 1000}, odd = {0, 1000000000}, neg = {-1, 0};
  int p[2];
  pipe(p);
  SHOW(read, 77, buf, 1);
  SHOW(read, -1, buf, 1);
  SHOW(read, p[1], buf, 1);
  SHOW(write, p[0], buf, 1);
  SHOW(write, p[1], BAD, 1);
  SHOW(write, p[1], BAD, 0);
  SHOW(write, p[1], "abc", 3);
  SHOW(read, p[0], BAD, 3);
  SHOW(lseek, p[0], 0, SEEK_SET);
  SHOW(pread64, p[0], buf, 1, 0);
  SHOW(readv, p[0], buf, 5000);
  SHOW(readv, p[0], BAD, 1);
  SHOW(close, 77);
  SHOW(dup, 77);
  SHOW(dup3, 1, 1, 0);
  SHOW(dup3, 77, 78, 0);
  SHOW(dup3, 1, 50, 12345);
  SHOW(fcntl, 77, F_GETFL, 0);
  SHOW(fcntl, p[0], F_GETFL, 0);
  SHOW(fcntl, p[0], F_DUPFD, -1);
  SHOW(fcntl, p[0], 999, 0);
  SHOW(pipe2, BAD, 0);
  SHOW(openat, AT_FDCWD, "data/none", O_RDONLY, 0);
  SHOW(openat, AT_FDCWD, "", O_RDONLY, 0);
  SHOW(openat, AT_FDCWD, BAD, O_RDONLY, 0);
  SHOW(openat, AT_FDCWD, "data/in.txt/", O_RDONLY, 0);
  SHOW(openat, AT_FDCWD, "data/in.txt/more", O_RDONLY, 0);
  SHOW(openat, AT_FDCWD, "data/in.txt", O_RDONLY | O_DIRECTORY, 0);
  SHOW(openat, AT_FDCWD, "data", O_RDWR, 0);
  SHOW(openat, 77, "x", O_RDONLY, 0);
  SHOW(openat, p[0], "x", O_RDONLY, 0);
  int fd = open("data/in.txt", O_RDONLY);
  SHOW(openat, fd, "x", O_RDONLY, 0);
  SHOW(lseek, fd, -1, SEEK_SET);
  SHOW(lseek, fd, 0, 99);
  SHOW(lseek, fd, 100000, SEEK_SET);
  SHOW(read, fd, buf, 1);
  SHOW(getdents64, fd, buf, 100);
  SHOW(ftruncate, fd, 5);
  SHOW(ftruncate, p[0], 5);
  SHOW(fsync, p[0]);
  SHOW(fsync, 77);
  SHOW(fstat, 77, buf);
  SHOW(fstat, fd, BAD);
  SHOW(newfstatat, AT_FDCWD, "", buf, 0);
  SHOW(newfstatat, fd, "", buf, AT_EMPTY_PATH);
  SHOW(faccessat, AT_FDCWD, "data/none", F_OK);
  SHOW(faccessat, AT_FDCWD, "data/in.txt", 64);
  SHOW(readlinkat, AT_FDCWD, "data/in.txt", buf, 100);
  SHOW(readlinkat, AT_FDCWD, "data/none", buf, 100);
  SHOW(mkdirat, AT_FDCWD, "data", 0755);
  SHOW(unlinkat, AT_FDCWD, "data/none", 0);
  SHOW(getcwd, buf, 1);
  SHOW(chdir, "data/in.txt");
  SHOW(chdir, "none");
  SHOW(fchdir, fd);
  SHOW(ioctl, fd, 0x5401, buf);
  SHOW(ioctl, 77, 0x5401, buf);
  SHOW(ppoll, BAD, 1, &ts, 0, 8);
  SHOW(ppoll, buf, 0, &odd, 0, 8);
  SHOW(ppoll, buf, 0, &ts, 0, 8);
  SHOW(nanosleep, &odd, 0);
  SHOW(nanosleep, &neg, 0);
  SHOW(nanosleep, &ts, 0);
  SHOW(clock_gettime, 99, buf);
  SHOW(clock_gettime, CLOCK_MONOTONIC, BAD);
  SHOW(clock_getres, 99, buf);
  SHOW(clock_getres, CLOCK_REALTIME, 0);
  SHOW(clock_nanosleep, 99, 0, &ts, 0);
  SHOW(clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &ts, 0);
  SHOW(gettimeofday, 0, 0);
  SHOW(mmap, 0, 0, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SHOW(mmap, 0, 4096, 3, MAP_ANONYMOUS, -1, 0);
  SHOW(mmap, 0, 4096, 3, MAP_PRIVATE, 77, 0);
  SHOW(mmap, 0, 4096, 3, MAP_PRIVATE, p[0], 0);
  SHOW(mmap, 0, 4096, 3, MAP_SHARED, fd, 0);
  SHOW(mmap, 0, 4096, 1, MAP_PRIVATE, fd, 5);
  SHOW(mmap, 0x30000001, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  SHOW(mmap, 0x30000000, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  SHOW(munmap, 0x30000001, 4096);
  SHOW(munmap, 0x30000000, 0);
  SHOW(munmap, 0x30000000, 4096);
  SHOW(munmap, 0x30000000, 4096);
  SHOW(mprotect, 0x30000000, 4096, 3);
  SHOW(mprotect, 0x30000001, 4096, 3);
  SHOW(madvise, 0x30000001, 4096, MADV_DONTNEED);
  SHOW(mremap, 0x30000000, 4096, 8192, 0, 0);
  SHOW(mremap, 0x30000001, 4096, 8192, 0, 0);
  SHOW(futex, &word, FUTEX_WAIT, 6, 0, 0, 0);
  SHOW(futex, &word, FUTEX_WAIT, 5, &ts, 0, 0);
  SHOW(futex, &word, FUTEX_WAIT, 5, &odd, 0, 0);
  SHOW(futex, (char *)&word + 1, FUTEX_WAIT, 5, 0, 0, 0);
  SHOW(futex, 0x60, FUTEX_WAIT, 5, 0, 0, 0);
  SHOW(futex, &word, FUTEX_WAIT_BITSET, 5, 0, 0, 0);
  SHOW(futex, &word, FUTEX_WAIT_BITSET, 5, &ts, 0, -1);
  SHOW(futex, &word, FUTEX_WAKE_BITSET, 5, 0, 0, 0);
  SHOW(futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
  SHOW(futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 6);
  SHOW(futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 5);
  SHOW(futex, &word, FUTEX_WAKE_OP, 1, 1, &other, 0x10001000);
  SHOW(futex, &word, 99, 1, 1, &other, 5);
  SHOW(futex, &other, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
  printf("other %d\n", other);
  SHOW(rt_sigaction, 0, 0, buf, 8);
  SHOW(rt_sigaction, 65, 0, buf, 8);
  SHOW(rt_sigaction, SIGKILL, buf, 0, 8);
  SHOW(rt_sigaction, SIGUSR1, 0, buf, 4);
  SHOW(rt_sigprocmask, 9, buf, 0, 8);
  SHOW(rt_sigprocmask, 9, 0, buf, 8);
  SHOW(rt_sigprocmask, 0, buf, 0, 4);
  SHOW(sigaltstack, BAD, 0);
  SHOW(kill, 0x7ffffff, 0);
  SHOW(kill, getpid(), 0);
  SHOW(kill, getpid(), 65);
  SHOW(tgkill, getpid(), getpid(), 0);
  SHOW(tgkill, getpid(), 0x7ffffff, 0);
  SHOW(tgkill, -1, getpid(), 0);
  SHOW(tkill, 0, 0);
  SHOW(sched_getaffinity, 0, 4, buf);
  SHOW(sched_setaffinity, 0, 0, buf);
  SHOW(sched_get_priority_max, SCHED_FIFO);
  SHOW(sched_get_priority_max, 77);
  SHOW(sched_getscheduler, 0);
  SHOW(sched_getscheduler, -1);
  SHOW(prlimit64, 0, 99, 0, buf);
  SHOW(getrusage, 77, buf);
  SHOW(uname, BAD);
  SHOW(getrandom, buf, 10, 0);
  SHOW(getrandom, buf, 10, 64);
  SHOW(getrandom, BAD, 10, 0);
  SHOW(eventfd2, 0, 12345);
  SHOW(umask, 022);
  SHOW(umask, 077);
  SHOW(wait4, -1, 0, 0, 0);
  SHOW(getpgid, 0x7ffffff);
  SHOW(prctl, 9999, 0, 0, 0, 0);
  SHOW(sched_yield, 0);
  return 0;
}
