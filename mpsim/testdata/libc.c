/* qsort, setjmp, strings, malloc patterns, misaligned and page-crossing accesses, signals, files. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
static jmp_buf env;
static volatile int caught;
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void deep(int n) { if (n == 0) longjmp(env, 5); deep(n - 1); caught++; }
static void on_usr1(int s) { caught += s; }
static sigjmp_buf senv;
static unsigned char *p;
static void on_segv(int s, siginfo_t *i, void *u) { (void)u; printf("signal %d code %d at %lx\n", s, i->si_code, (long)i->si_addr - (p ? (long)p : 0)); siglongjmp(senv, 1); }
int main(int argc, char **argv) {
  int v[200];
  unsigned r = 12345;
  for (int i = 0; i < 200; i++) v[i] = (int)((r = r * 1103515245 + 12345) >> 8);
  qsort(v, 200, sizeof *v, cmp);
  for (int i = 1; i < 200; i++) if (v[i - 1] > v[i]) puts("not sorted");
  printf("%d %d %d\n", v[0], v[100], v[199]);
  int j = setjmp(env);
  if (!j) deep(50);
  printf("longjmp %d\n", j);
  p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 8192; i++) p[i] = (unsigned char)(i * 7);
  uint64_t s = 0;
  for (int i = 4080; i < 4100; i++) {
    s = s * 31 + *(volatile uint64_t *)(p + i) + *(volatile uint32_t *)(p + i) + *(volatile uint16_t *)(p + i);
    *(volatile uint64_t *)(p + i) = s;
    *(volatile uint16_t *)(p + i + 3) = (uint16_t)s;
    volatile double *dp = (volatile double *)(p + i);
    *dp = *dp;
  }
  for (int i = 4070; i < 4120; i++) s = s * 31 + p[i];
  printf("%016lx\n", s);
  signal(SIGUSR1, on_usr1);
  raise(SIGUSR1);
  printf("caught %d\n", caught);
  struct sigaction sa = {0};
  sa.sa_sigaction = on_segv;
  sa.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &sa, 0);
  
  mprotect(p, 4096, PROT_READ);
  if (!sigsetjmp(senv, 1)) { p[0] = 1; puts("written"); } else puts("read only");
  char *list[100] = {0};
  for (int i = 0; i < 2000; i++) {
    int k = (int)((r = r * 1103515245 + 12345) >> 16) % 100;
    free(list[k]);
    size_t n = (r >> 8) % 5000 + 1;
    list[k] = malloc(n);
    memset(list[k], k, n);
  }
  char buf[64];
  snprintf(buf, sizeof buf, "%s|%5.2f|%-6d|%x|%c", argc > 1 ? argv[1] : "none", 3.14159, -42, 48879, 'z');
  puts(buf);
  printf("%ld %s\n", strtol("-0x1f", 0, 16), strstr("the quick brown fox", "brown"));
  int line;
  while (scanf("%d", &line) == 1) printf("read %d\n", line);
  fflush(stdout);
  fprintf(stderr, "to stderr\n");
  abort();
}
