/* Code that is written while the program runs: with fence.i, and rewritten. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static uint32_t li(int rd, int imm) { return (uint32_t)imm << 20 | (uint32_t)rd << 7 | 0x13; }
int main(void) {
  uint32_t *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int sum = 0;
  for (int i = 0; i < 20; i++) {
    p[0] = li(10, i * 3);
    p[1] = 0x00008067; /* ret */
    __asm__ volatile("fence.i" ::: "memory");
    sum += ((int (*)(void))p)();
    sum += ((int (*)(void))p)();
  }
  printf("%d\n", sum);
  munmap(p, 4096);
  p = mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  p[0] = li(10, 99);
  p[1] = 0x00008067;
  mprotect(p, 4096, PROT_READ | PROT_EXEC);
  __builtin___clear_cache((char *)p, (char *)(p + 2));
  printf("%d\n", ((int (*)(void))p)());
  return 0;
}
