/*
 * Races that few schedules show: a long delay or a chain of locks orders the two
 * accesses in nearly every run. Each race_NAME has a correct twin, norace_NAME.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static int broken;

static void late(void) { for (volatile int i = 0; i < 20000; i++) ; }

static void section(pthread_mutex_t *l)
{
	pthread_mutex_lock(l);
	pthread_mutex_unlock(l);
}

/* What the correct twin holds around its accesses. */
static void begin(void) { if (!broken) pthread_mutex_lock(&guard); }
static void end(void) { if (!broken) pthread_mutex_unlock(&guard); }

#define RARE(name, before, after) \
	long name; \
	static void *name##_a(void *p) before \
	static void *name##_b(void *p) after
#define SET(name, v) do { begin(); name = v; end(); } while (0)

/* A section of the second thread comes after one of the first. */
RARE(handed, { SET(handed, 1); section(&m); return p; },
	{ late(); section(&m); SET(handed, 2); return p; })
/* The first access is in a section, the second is after one. */
RARE(inside, { begin(); pthread_mutex_lock(&m); inside = 1; pthread_mutex_unlock(&m); end(); return p; },
	{ late(); section(&m); SET(inside, 2); return p; })
/* Two locks, one after the other. */
RARE(twice, { SET(twice, 1); section(&m); section(&n); return p; },
	{ late(); section(&n); section(&m); SET(twice, 2); return p; })
/* Between many sections. */
RARE(many, { for (int i = 0; i < 20; i++) { section(&m); if (i == 3) SET(many, 1); } return p; },
	{ late(); for (int i = 0; i < 20; i++) section(&m); SET(many, 2); return p; })
/* Each holds a lock, but not the same; a third one orders them. */
RARE(wrong, { begin(); pthread_mutex_lock(&m); wrong++; pthread_mutex_unlock(&m); end(); section(&guard); return p; },
	{ late(); section(&guard); begin(); pthread_mutex_lock(&n); wrong++; pthread_mutex_unlock(&n); end(); return p; })
/* A sleep. */
RARE(sleepy, { SET(sleepy, 1); return p; },
	{ usleep(1000); SET(sleepy, 2); return p; })
/* Nested sections, the inner one orders. */
RARE(nested, { SET(nested, 1); pthread_mutex_lock(&n); section(&m); pthread_mutex_unlock(&n); return p; },
	{ late(); pthread_mutex_lock(&n); section(&m); pthread_mutex_unlock(&n); SET(nested, 2); return p; })
/* A read before a section, a write after one. */
RARE(reader, { begin(); volatile long seen = reader; (void)seen; end(); section(&m); return p; },
	{ late(); section(&m); SET(reader, 2); return p; })
/* A semaphore that is free orders what it need not: no mutex, so not predicted. */
static sem_t sem;
RARE(counted, { SET(counted, 1); sem_wait(&sem); sem_post(&sem); return p; },
	{ late(); sem_wait(&sem); sem_post(&sem); SET(counted, 2); return p; })
/* The block is freed by who comes late. */
static long *block;
RARE(freed, { begin(); if (block) *block = 1; end(); section(&m); return p; },
	{ late(); section(&m); begin(); freed++; free(block); block = NULL; end(); return p; })

static void *chain_mid(void *p) { for (volatile int i = 0; i < 9000; i++) ; section(&m); section(&n); return p; }
/* A third thread hands on what orders the two. */
RARE(chain, { SET(chain, 1); section(&m); return p; },
	{ late(); late(); section(&n); SET(chain, 2); return p; })

#define CASE(x) if (strcmp(name, #x) == 0) a = x##_a, b = x##_b;

int main(int argc, char **argv)
{
	void *(*a)(void *) = NULL, *(*b)(void *) = NULL;
	const char *name = argc > 1 ? argv[1] : "";
	pthread_t s, t, u;

	broken = strncmp(name, "race_", 5) == 0;
	name += broken ? 5 : strncmp(name, "norace_", 7) == 0 ? 7 : 0;
	CASE(handed) CASE(inside) CASE(twice) CASE(many) CASE(wrong) CASE(sleepy) CASE(nested) CASE(reader) CASE(counted) CASE(freed) CASE(chain)
	if (!a)
		return 2;
	sem_init(&sem, 0, 2);
	block = malloc(64);
	pthread_create(&s, NULL, a, NULL);
	if (a == chain_a)
		pthread_create(&u, NULL, chain_mid, NULL);
	pthread_create(&t, NULL, b, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	if (a == chain_a)
		pthread_join(u, NULL);
	return 0;
}
