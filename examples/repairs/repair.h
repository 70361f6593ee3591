/*
 * repair.h: what the programs of this folder share. Each has races, some of
 * which other races explain, and says by its marks what a report must make of
 * them:
 *
 *	repair 1: ready         REPAIRED_1 repairs the races of the variable ready
 *	order: data by ready    races of data are artifacts by order of those of ready
 *	order: data by a, b     ... of each of those by itself
 *	order: data by a + b    ... of both together
 *	address: table by i     races of table are artifacts by address of those of i
 *	own: count              races of count are artifacts of nothing
 *	may: ...                any of the above, in some schedules
 *
 * A race that a report folds by order must be gone with its cause repaired.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef REPAIRED_1
#define SHARED_1 _Atomic
#else
#define SHARED_1
#endif
#ifdef REPAIRED_2
#define SHARED_2 _Atomic
#else
#define SHARED_2
#endif

/* wait_for spins until a condition holds. */
#define wait_for(condition) \
	while (!(condition))    \
	sched_yield()

/* run_two runs two threads to their ends. */
static inline void run_two(void *(*f)(void *), void *(*g)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, f, NULL);
	pthread_create(&b, NULL, g, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}
