// A function that only returns a field: gcc gives its load the line of the brace.
#include <stdio.h>

struct pair {
    long first, second;
};

__attribute__((noipa)) static long second(const struct pair *p) {
    return p->second;
}

__attribute__((noipa)) static void set(struct pair *p, long to) {
    p->second = to;
    p->first = 1;
}

int main(int argc, char **argv) {
    struct pair p;
    set(&p, argc * 5L);
    printf("total %ld\n", second(&p));
    return 0;
}
