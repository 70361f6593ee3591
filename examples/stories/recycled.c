/* A request whose field is not set when its block was another request before.
 *
 *   question: --at stdout:priority
 *   defect: 22
 */
#include <stdio.h>
#include <stdlib.h>

struct request {
    long id;
    long size;
    int priority;
    int retries;
};

static struct request *make(long id, int priority) {
    struct request *r = malloc(sizeof *r);
    r->id = id;
    r->size = 0;
    r->retries = 0;
    if (priority > 0)
        r->priority = priority; /* the defect: 0 is not stored */
    return r;
}

static int serve(struct request *r) {
    int p = r->priority;
    r->retries++;
    return p;
}

int main(void) {
    int sum = 0;
    for (long i = 1; i <= 4; i++) {
        struct request *r = make(i, (int)i * 3);
        sum += serve(r);
        free(r);
    }
    struct request *last = make(9, 0);
    int p = serve(last);
    printf("sum %d, priority %d\n", sum, p);
    free(last);
    return 0;
}
