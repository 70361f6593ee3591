// malloc in all sizes, mmap, mremap, mprotect, brk.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static void *churn(void *arg) {
  unsigned long seed = (unsigned long)arg, sum = 0;
  char *p[64] = {0};
  for (int i = 0; i < 3000; i++) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    int k = seed >> 33 & 63;
    size_t n = 1 + (seed >> 40) % (i % 50 ? 3000 : 400000);
    if (p[k]) sum += (unsigned char)p[k][0];
    p[k] = realloc(p[k], n);
    memset(p[k], k, n);
  }
  for (int k = 0; k < 64; k++) free(p[k]);
  return (void *)sum;
}

int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < 3; i++) {
    void *r;
    pthread_join(t[i], &r);
    printf("%lu\n", (unsigned long)r);
  }
  char *a = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  strcpy(a + 4096, "kept");
  printf("munmap %d %d\n", munmap(a, 4096), munmap(a + 8192, 4096));
  char *b = mremap(a + 4096, 4096, 1 << 20, MREMAP_MAYMOVE);
  printf("mremap %s %d\n", b, b[4096]);
  printf("madvise %d [%s]\n", madvise(b, 4096, MADV_DONTNEED), b);
  printf("mprotect %d %d\n", mprotect(b, 4096, PROT_READ), mprotect((void *)0x1000, 4096, PROT_READ));
  printf("unaligned %d %s\n", munmap(b + 1, 4096), strerror(errno));
  void *huge = mmap(NULL, 1ul << 60, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("huge %d %s\n", huge == MAP_FAILED, strerror(errno));
  char *fixed = mmap((void *)0x30000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  printf("fixed %p\n", fixed);
  int fd = open("data/in.txt", O_RDONLY);
  char *f = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  f[0] = 'X';
  printf("file %.8s\n", f);
  void *brk = sbrk(0);
  printf("brk %d", sbrk(100000) == brk);
  memset(brk, 1, 100000);
  printf(" %d\n", brk < sbrk(0));
  struct rlimit r;
  printf("stack limit %d %ld\n", getrlimit(RLIMIT_STACK, &r), (long)r.rlim_cur);
  struct utsname u;
  uname(&u);
  printf("%s %s page %ld\n", u.sysname, u.machine, sysconf(_SC_PAGESIZE));
  void *m = NULL;
  printf("memalign %d %d\n", posix_memalign(&m, 1 << 16, 100000), (int)((uintptr_t)m & 0xffff));
  return 0;
}
