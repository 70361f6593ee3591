// Handlers for faults, raise, sigaltstack, masks, sigwait, pthread_kill, nested
// and restarted.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf env;
static volatile int depth, hits;
static volatile double fp = 1.5;
static char *page;

static void fault(int sig, siginfo_t *info, void *ctx) {
  ucontext_t *u = ctx;
  fp *= 2; // the handler may use floating point
  printf("signal %d code %d addr %p pc %s\n", sig, info->si_code, sig == SIGSEGV ? (void *)((char *)info->si_addr - page) : 0,
         u->uc_mcontext.__gregs[0] ? "set" : "null");
  siglongjmp(env, sig);
}

static void skip(int sig, siginfo_t *info, void *ctx) {
  ((ucontext_t *)ctx)->uc_mcontext.__gregs[0] += 2; // c.ebreak
  ((ucontext_t *)ctx)->uc_mcontext.__gregs[10] = 4711;
}

static void count(int sig) { hits++; }

static void nested(int sig) {
  printf("enter %d\n", sig);
  if (sig == SIGUSR1 && depth++ == 0) {
    raise(SIGUSR1); // blocked while it is handled
    raise(SIGUSR2);
  }
  printf("leave %d\n", sig);
}

static void *waiter(void *arg) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGRTMIN + 1);
  siginfo_t info;
  int got = sigwaitinfo(&s, &info);
  printf("sigwaitinfo %d value %d\n", got - SIGRTMIN, info.si_value.sival_int);
  return NULL;
}

static sem_t ready;
static void *sleeper(void *arg) {
  struct timespec d = {1000, 0}, left;
  sem_post(&ready);
  int r = nanosleep(&d, &left);
  int e = errno;
  printf("nanosleep %d %s left %d\n", r, strerror(e), left.tv_sec >= 900);
  return NULL;
}

static char altstack[32768];
static void deep(int sig, siginfo_t *info, void *ctx) {
  char here;
  printf("on the alternate stack %d\n", &here > altstack && &here < altstack + sizeof altstack);
  siglongjmp(env, 1);
}
static int recurse(volatile char *p) {
  volatile char buf[65536];
  buf[0] = p ? p[0] : 1;
  return recurse(buf) + buf[0];
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct sigaction sa = {0};
  sa.sa_flags = SA_SIGINFO;
  sa.sa_sigaction = fault;
  sigaction(SIGSEGV, &sa, NULL);
  sigaction(SIGILL, &sa, NULL);
  sigaction(SIGBUS, &sa, NULL);
  double keep = 3.25;
  if (!sigsetjmp(env, 1)) *(volatile int *)0x40 = 1;
  char *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page = ro;
  if (!sigsetjmp(env, 1)) {
    *(volatile char *)(ro + 123) = 1;
  } else {
    printf("read only page\n");
  }
  munmap(ro, 4096);
  if (!sigsetjmp(env, 1)) asm volatile(".4byte 0xffffffff");
  printf("fp %g %g\n", fp, keep);

  sa.sa_sigaction = skip;
  sigaction(SIGTRAP, &sa, NULL);
  register long a0 asm("a0") = 1;
  asm volatile("c.ebreak" : "+r"(a0));
  printf("after ebreak %ld\n", a0);

  signal(SIGUSR1, nested);
  signal(SIGUSR2, nested);
  raise(SIGUSR1);

  sigset_t s, old;
  sigemptyset(&s);
  sigaddset(&s, SIGHUP);
  signal(SIGHUP, count);
  sigprocmask(SIG_BLOCK, &s, &old);
  raise(SIGHUP);
  raise(SIGHUP);
  sigpending(&s);
  printf("blocked hits %d pending %d\n", hits, sigismember(&s, SIGHUP));
  sigsuspend(&old);
  printf("hits %d errno %s\n", hits, strerror(errno));
  sigprocmask(SIG_SETMASK, &old, NULL);

  sigemptyset(&s);
  sigaddset(&s, SIGRTMIN + 1);
  pthread_sigmask(SIG_BLOCK, &s, NULL);
  pthread_t t;
  pthread_create(&t, NULL, waiter, NULL);
  union sigval v = {.sival_int = 99};
  sigqueue(getpid(), SIGRTMIN + 1, v);
  pthread_join(t, NULL);

  sem_init(&ready, 0, 0);
  pthread_create(&t, NULL, sleeper, NULL);
  sem_wait(&ready);
  usleep(20000);
  pthread_kill(t, SIGHUP);
  pthread_join(t, NULL);
  printf("hits %d\n", hits);

  stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};
  sigaltstack(&ss, NULL);
  sa.sa_sigaction = deep;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &sa, NULL);
  if (!sigsetjmp(env, 1)) recurse(NULL);
  sigaltstack(NULL, &ss);
  printf("flags %d\n", ss.ss_flags);

  alarm(1);
  signal(SIGALRM, count);
  pause();
  printf("alarm %d\n", hits);
  fflush(stdout);
  if (argc > 1 && !strcmp(argv[1], "abort")) abort();
  if (argc > 1 && !strcmp(argv[1], "term")) kill(getpid(), SIGTERM);
  if (argc > 1 && !strcmp(argv[1], "segv")) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile int *)0x40 = 1;
  }
  return 0;
}
