// Who waited for whom: each wait with SINK(a) is ordered after line a.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static volatile int turns;

static void *other(void *arg) {
    pthread_mutex_lock(&lock);
    turns++;
    pthread_mutex_unlock(&lock); // unlocked
    sem_post(&sem); // posted
    pthread_barrier_wait(&barrier); // entered
    return arg;
}

int main(void) {
    pthread_t t;
    sem_init(&sem, 0, 0);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&t, 0, other, 0);
    sem_wait(&sem); // SINK(posted)
    pthread_mutex_lock(&lock); // SINK(unlocked)
    pthread_mutex_unlock(&lock);
    for (volatile int i = 0; i < 3000; i++)
        ;
    pthread_barrier_wait(&barrier);
    pthread_join(t, 0);
    return turns - 1;
}
