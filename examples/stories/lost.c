/* Two threads that add to a counter without a lock: updates are lost.
 *
 *   question: --at stdout:count
 *   defect: 22
 */
#include <pthread.h>
#include <stdio.h>

enum { TURNS = 200 };

static volatile long count;

static long work(long x) {
    for (int k = 0; k < 5; k++)
        x = x * 31 + k;
    return x;
}

static void add_one(long *mine) {
    long seen = count;
    *mine = work(*mine);
    count = seen + 1; /* the defect: another thread may have counted since */
}

static void *add(void *arg) {
    for (int i = 0; i < TURNS; i++)
        add_one(arg);
    return 0;
}

int main(void) {
    static long noise[2];
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, add, &noise[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    printf("count %ld of %d\n", count, 2 * TURNS);
    return 0;
}
