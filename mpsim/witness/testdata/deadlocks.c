/*
 * Deadlocks that few schedules reach, and correct programs that lock in opposite orders
 * all the same. A program dead_NAME can deadlock, one fine_NAME cannot.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER, o = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t said = PTHREAD_COND_INITIALIZER;
static int ready;
long sum;

static void late(void) { for (volatile int i = 0; i < 20000; i++) ; }
static void both(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	pthread_mutex_lock(b);
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}
static void gated(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(&gate);
	both(a, b);
	pthread_mutex_unlock(&gate);
}

#define TWO(name, first, second) \
	static void *name##_a(void *p) first \
	static void *name##_b(void *p) second

/* Two locks in opposite orders. */
TWO(dead_opposite, { both(&m, &n); return p; }, { late(); both(&n, &m); return p; })
/* The same, other sections before. */
TWO(dead_often, { for (int i = 0; i < 5; i++) both(&m, &n); return p; }, { late(); both(&m, &n); both(&n, &m); return p; })
/* A lock that is given up in between keeps nobody out. */
TWO(dead_between, { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); both(&m, &n); return p; },
	{ late(); pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); both(&n, &m); return p; })
/* Only one of them takes the gate. */
TWO(dead_half, { gated(&m, &n); return p; }, { late(); both(&n, &m); return p; })
/* Three locks in a circle, by three threads: the third is in main. */
TWO(dead_circle, { both(&m, &n); return p; }, { late(); both(&n, &o); return p; })

/* A gate around both. */
TWO(fine_gate, { gated(&m, &n); return p; }, { late(); gated(&n, &m); return p; })
/* One order. */
TWO(fine_order, { both(&m, &n); return p; }, { late(); both(&m, &n); return p; })
/* The first tells the second that it is done. */
TWO(fine_told, {
	both(&m, &n);
	pthread_mutex_lock(&gate); ready = 1; pthread_cond_signal(&said); pthread_mutex_unlock(&gate); return p; },
	{ pthread_mutex_lock(&gate); while (!ready) pthread_cond_wait(&said, &gate); pthread_mutex_unlock(&gate); both(&n, &m); return p; })
/* The second thread is made by the first when that is done. */
static void *fine_join_c(void *p) { both(&n, &m); return p; }
TWO(fine_join, { pthread_t t; both(&m, &n); pthread_create(&t, NULL, fine_join_c, NULL); pthread_join(t, NULL); return p; }, { return p; })
/* The second lock is only tried. */
TWO(fine_try, { both(&m, &n); return p; },
	{ late(); pthread_mutex_lock(&n); if (pthread_mutex_trylock(&m) == 0) { sum++; pthread_mutex_unlock(&m); } pthread_mutex_unlock(&n); return p; })
/* What the first has done decides whether the second does it. */
TWO(fine_flag, { both(&m, &n); pthread_mutex_lock(&gate); ready = 1; pthread_mutex_unlock(&gate); return p; },
	{ late(); pthread_mutex_lock(&gate); int go = ready; pthread_mutex_unlock(&gate); if (go) both(&n, &m); return p; })

#define CASE(x) if (strcmp(name, #x) == 0) a = x##_a, b = x##_b;

int main(int argc, char **argv)
{
	void *(*a)(void *) = NULL, *(*b)(void *) = NULL;
	const char *name = argc > 1 ? argv[1] : "";
	pthread_t s, t;

	CASE(dead_opposite) CASE(dead_often) CASE(dead_between) CASE(dead_half) CASE(dead_circle)
	CASE(fine_gate) CASE(fine_order) CASE(fine_told) CASE(fine_join) CASE(fine_try) CASE(fine_flag)
	if (!a)
		return 2;
	pthread_create(&s, NULL, a, NULL);
	pthread_create(&t, NULL, b, NULL);
	if (a == dead_circle_a) {
		late(); late();
		both(&o, &m);
	}
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
