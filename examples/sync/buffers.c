/* Buffers of the program that library functions read and write, and C11's own threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>

#include "pair.h"

/* both runs f in two threads, which are 0 and 1. */
static void both(void *(*f)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, f, (void *)0);
	pthread_create(&b, NULL, f, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static int bad; /* set before threads start */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void enter(void) { if (!bad) pthread_mutex_lock(&lock); }
static void leave(void) { if (!bad) pthread_mutex_unlock(&lock); }

#define BODY(name) static void *name(void *arg)

static char memcpy_x[64];
BODY(memcpy_body)
{
	char own[64] = "own";
	enter();
	if (arg)
		memcpy(memcpy_x, own, sizeof own);
	else
		memcpy(own, memcpy_x, sizeof own);
	leave();
	return own[1] == 50 ? &bad : NULL;
}
PAIR(memcpy, "memcpy") { bad = broken; both(memcpy_body); printf("%s\n", memcpy_x[0] ? "own" : ""); }

static char memset_x[100];
BODY(memset_body)
{
	enter();
	memset(memset_x, arg ? 1 : 2, sizeof memset_x);
	leave();
	return NULL;
}
PAIR(memset, "memset") { bad = broken; both(memset_body); printf("set\n"); }

static char strcpy_x[32] = "first";
BODY(strcpy_body)
{
	enter();
	if (arg)
		strcpy(strcpy_x, "second, longer");
	else if (strlen(strcpy_x) == 1)
		printf("one\n");
	leave();
	return NULL;
}
PAIR(strcpy, "strcpy, strlen") { bad = broken; both(strcpy_body); printf("copied\n"); }

static char printf_x[32] = "text";
BODY(printf_body)
{
	enter();
	if (arg)
		strcpy(printf_x, "text");
	else
		printf("[%s]\n", printf_x);
	leave();
	return NULL;
}
PAIR(printf, "printf of a shared string") { bad = broken; both(printf_body); }

static char sprintf_x[32];
BODY(sprintf_body)
{
	enter();
	sprintf(sprintf_x, "%d bottles", 10);
	leave();
	return arg;
}
PAIR(sprintf, "sprintf into a shared buffer") { bad = broken; both(sprintf_body); printf("%s\n", bad ? "" : sprintf_x); }

static int qsort_x[16] = {5, 3, 9, 1};
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
BODY(qsort_body)
{
	enter();
	if (arg)
		qsort(qsort_x, 16, sizeof *qsort_x, compare);
	else
		qsort_x[15] = 4;
	leave();
	return NULL;
}
PAIR(qsort, "qsort of a shared array") { bad = broken; both(qsort_body); printf("sorted\n"); }

static char read_x[8];
BODY(strtol_body)
{
	enter();
	if (arg)
		snprintf(read_x, sizeof read_x, "%d", 42);
	else
		(void)strtol(read_x, NULL, 10);
	leave();
	return NULL;
}
PAIR(read, "strtol and snprintf on a shared buffer") { bad = broken; both(strtol_body); printf("42\n"); }

static int *heap_x;
BODY(heap_body)
{
	enter();
	heap_x[1]++;
	leave();
	return arg;
}
PAIR(heap, "realloc before threads start")
{
	bad = broken;
	heap_x = malloc(4);
	heap_x = realloc(heap_x, 400);
	heap_x[1] = 0;
	both(heap_body);
	printf("%d\n", bad ? 0 : heap_x[1]);
	free(heap_x);
}

static int c11_x;
static mtx_t c11_m;
static int c11_body(void *arg)
{
	if (!bad)
		mtx_lock(&c11_m);
	c11_x++;
	if (!bad)
		mtx_unlock(&c11_m);
	return arg != NULL;
}
PAIR(c11, "C11 thrd_create, mtx_lock, thrd_join")
{
	thrd_t a, b;
	int status;

	bad = broken;
	mtx_init(&c11_m, mtx_plain);
	thrd_create(&a, c11_body, NULL);
	thrd_create(&b, c11_body, &bad);
	thrd_join(a, &status);
	thrd_join(b, &status);
	printf("%d %d\n", status, bad ? 0 : c11_x);
}

static int c11_cnd_x, c11_cnd_ready;
static mtx_t c11_cnd_m;
static cnd_t c11_cnd_c;
static int c11_cnd_body(void *arg)
{
	mtx_lock(&c11_cnd_m);
	while (!c11_cnd_ready)
		cnd_wait(&c11_cnd_c, &c11_cnd_m);
	mtx_unlock(&c11_cnd_m);
	c11_cnd_x++;
	return arg != NULL;
}
PAIR(c11_cnd, "C11 cnd_wait, cnd_signal")
{
	thrd_t t;

	mtx_init(&c11_cnd_m, mtx_plain);
	cnd_init(&c11_cnd_c);
	thrd_create(&t, c11_cnd_body, NULL);
	if (!broken)
		c11_cnd_x = 1;
	mtx_lock(&c11_cnd_m);
	c11_cnd_ready = 1;
	mtx_unlock(&c11_cnd_m);
	cnd_signal(&c11_cnd_c);
	if (broken)
		c11_cnd_x = 1;
	thrd_join(t, NULL);
	printf("%d\n", broken ? 0 : c11_cnd_x);
}

static int c11_once_x;
static once_flag c11_once_flag = ONCE_FLAG_INIT;
static void c11_once_init(void) { c11_once_x = 3; }
static int c11_once_body(void *arg)
{
	if (bad)
		c11_once_init();
	else
		call_once(&c11_once_flag, c11_once_init);
	return c11_once_x == 50 && arg;
}
PAIR(c11_once, "C11 call_once")
{
	thrd_t a, b;

	bad = broken;
	thrd_create(&a, c11_once_body, NULL);
	thrd_create(&b, c11_once_body, NULL);
	thrd_join(a, NULL);
	thrd_join(b, NULL);
	printf("%d\n", c11_once_x);
}

static int cancel_x;
static sem_t cancel_sem;
static void cancel_cleanup(void *arg) { cancel_x++; (void)arg; }
BODY(cancel_body)
{
	pthread_cleanup_push(cancel_cleanup, arg);
	sem_post(&cancel_sem);
	for (;;)
		nanosleep(&(struct timespec){1, 0}, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}
PAIR(cancel, "pthread_cancel with a cleanup handler, pthread_join")
{
	pthread_t t;
	void *result;

	sem_init(&cancel_sem, 0, 0);
	pthread_create(&t, NULL, cancel_body, NULL);
	sem_wait(&cancel_sem);
	pthread_cancel(t);
	if (broken)
		cancel_x++;
	pthread_join(t, &result);
	cancel_x++;
	printf("%d %d\n", result == PTHREAD_CANCELED, broken ? 0 : cancel_x);
}

static int cancel_wait_x;
static pthread_mutex_t cancel_wait_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cancel_wait_c = PTHREAD_COND_INITIALIZER;
static void cancel_wait_cleanup(void *arg)
{
	cancel_wait_x++;
	pthread_mutex_unlock(&cancel_wait_m);
	(void)arg;
}
BODY(cancel_wait_body)
{
	pthread_mutex_lock(&cancel_wait_m);
	pthread_cleanup_push(cancel_wait_cleanup, arg);
	sem_post(&cancel_sem);
	for (;;)
		pthread_cond_wait(&cancel_wait_c, &cancel_wait_m);
	pthread_cleanup_pop(0);
	return NULL;
}
PAIR(cancel_wait, "pthread_cond_wait cancelled: the cleanup handler holds the mutex")
{
	pthread_t t;

	sem_init(&cancel_sem, 0, 0);
	pthread_create(&t, NULL, cancel_wait_body, NULL);
	sem_wait(&cancel_sem);
	pthread_cancel(t);
	if (!broken)
		pthread_mutex_lock(&cancel_wait_m);
	cancel_wait_x++;
	if (!broken)
		pthread_mutex_unlock(&cancel_wait_m);
	pthread_join(t, NULL);
	printf("%d\n", broken ? 0 : cancel_wait_x);
}

static int once_x;
static pthread_once_t once_control = PTHREAD_ONCE_INIT;
static void once_init(void) { once_x = 9; }
BODY(once_body)
{
	if (bad)
		once_init();
	else
		pthread_once(&once_control, once_init);
	if (once_x != 9)
		printf("not yet\n");
	return arg;
}
PAIR(once, "pthread_once") { bad = broken; both(once_body); printf("%d\n", once_x); }

static int key_x;
static pthread_key_t key_key;
static void key_destroy(void *value) { *(int *)value += 1; }
BODY(key_body)
{
	static int own[2];
	pthread_setspecific(key_key, bad ? &key_x : &own[arg != NULL]);
	return NULL;
}
PAIR(key, "pthread_key_create, destructors")
{
	bad = broken;
	pthread_key_create(&key_key, key_destroy);
	both(key_body);
	printf("%d\n", key_x == 50);
}

static int barrier_c_x[2];
static pthread_barrier_t barrier_c_b;
BODY(barrier_c_body)
{
	int me = arg != NULL;
	barrier_c_x[me] = 1;
	if (!bad)
		pthread_barrier_wait(&barrier_c_b);
	return (void *)(long)barrier_c_x[!me];
}
PAIR(barrier_c, "pthread_barrier_wait")
{
	bad = broken;
	pthread_barrier_init(&barrier_c_b, NULL, 2);
	both(barrier_c_body);
	printf("%d\n", barrier_c_x[0] + barrier_c_x[1]);
}
