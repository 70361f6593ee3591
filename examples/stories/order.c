/* A worker that may look at its settings before they are there.
 *
 *   question: --at stdout:scaled
 *   defect: 34
 */
#include <pthread.h>
#include <stdio.h>

struct settings {
    int scale;
    int offset;
};

static struct settings current = {1, 0};
static int input = 21;
static long result;

static void *worker(void *arg) {
    struct settings *s = arg;
    long value = input;
    value = value * s->scale;
    value = value + s->offset;
    result = value;
    return 0;
}

static void configure(int scale, int offset) {
    current.scale = scale;
    current.offset = offset;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, worker, &current); /* the defect: before the settings */
    configure(10, 5);
    pthread_join(t, 0);
    printf("scaled %ld (scale %d)\n", result, current.scale);
    return 0;
}
