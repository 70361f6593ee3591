// Blocks that mremap moves, in calls of the program and of realloc. Each line
// with SINK(a, b, …) has to have the lines of these names in its slice, and none with a
// name that begins with "not_".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static volatile long sink, seed = 5;
__attribute__((noinline)) static long mk(long x) { return x + seed; }
int main(void) {
    char *mm = (char *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mm[5] = mk(17); // mmst
    mm[7] = mk(18); // not_mm7
    mm = (char *)mremap(mm, 4096, 1 << 20, MREMAP_MAYMOVE); // remapped
    sink = mm[5]; // SINK(mmst, remapped, not_mm7)
    mm[9000] = mk(19); // m9
    char *to = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    to[5] = mk(20); // not_to5
    to = mremap(mm, 1 << 20, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, to); // fixed
    sink = to[5]; // SINK(mmst, fixed, not_mm7, not_to5)
    sink = to[9000]; // SINK(m9, fixed, not_mm7, not_to5)
    long *v = malloc(300000);
    v[1] = mk(21); // v1
    v[30000] = mk(22); // v3
    for (int i = 0; i < 5; i++)
        v = realloc(v, 300000 << (i + 1)); // grown
    sink = v[1]; // SINK(v1, grown, not_mm7)
    sink = v[30000]; // SINK(v3, grown, not_mm7)
    int *small = malloc(40);
    small[3] = mk(23); // s3
    small[4] = mk(24); // s4
    small = realloc(small, 4000); // gsmall
    sink = small[3]; // SINK(s3, gsmall)
    printf("%ld\n", (long)sink);
    return 0;
}
