// Programs that wait: some for ever, some that get on. The argument chooses.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int go;
static atomic_int ready;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *plain(void *x) { pthread_mutex_lock(&held); while (!go) {} return x; }
static void *acquire(void *x) { while (!atomic_load(&ready)) {} return x; }
static void *locks(void *x) { pthread_mutex_lock(&held); return x; }
static void *counts(void *x) { for (long n = 0; !go && n < 3000000; n++) {} return x; }
static void *yields(void *x) { for (long n = 0; !go && n < 3000; n++) sched_yield(); return x; }
static void *endless(void *x) { for (;;) {} return x; }
static void *wakes(void *x) {
    struct timespec t = {0, 10000000};
    nanosleep(&t, 0);
    go = 1;
    atomic_store(&ready, 1);
    return x;
}
static void *works(void *x) {
    volatile long sum = 0;
    for (long n = 0; n < 1000000; n++) sum += n;
    go = 1;
    atomic_store(&ready, 1);
    return x;
}

int main(int argc, char **argv) {
    void *(*of[][3])(void *) = {{plain, acquire, locks}, {acquire, acquire, acquire}, {counts, counts, counts},
                                {yields, counts, yields}, {plain, acquire, wakes}, {plain, acquire, works}, {plain, endless, locks}};
    int which = atoi(argv[1]);
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(t + i, 0, of[which][i], 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    puts("done");
    return 0;
}
