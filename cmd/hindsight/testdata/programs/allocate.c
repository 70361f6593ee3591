/* Uses more and more memory, and does not look at what malloc says unless it
 * is told to. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  for (long n = 0;; n++) {
    size_t size = 1 << 20;
    char *p = !strcmp(how, "reserve")
                  ? mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                  : malloc(size);
    if (!strcmp(how, "polite") && !p) {
      puts("no more");
      return 4;
    }
    for (size_t i = 0; i < size; i += 4096)
      p[i] = 1;
  }
}
