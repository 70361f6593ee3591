/*
 * Races with a label: what hindsight confirm has to say about them. Each case
 * is two threads, A and B, and a race on the variable that is called as the
 * case is. CASE(name, label): the worst of the races on that variable is
 * harmful, state_differs, no_difference or infeasible.
 *
 *   verdicts NAME
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;
static int status;

/* spend computes for about 4 * n instructions. */
static void spend(int n)
{
	int v = n;

	for (int i = 0; i < n; i++)
		v = v * 3 + i;
	if (v == 12345)
		puts("never");
}

struct named {
	const char *name;
	void (*a)(void), (*b)(void), (*end)(void);
};

#define CASE(name, label) static void name##_a(void); static void name##_b(void); static void name##_end(void)
#define A(name) static void name##_a(void)
#define B(name) static void name##_b(void)
#define END(name) static void name##_end(void)

/* Lost updates. */

static volatile int lost_update;
CASE(lost_update, harmful);
A(lost_update) { lost_update++; }
B(lost_update) { lost_update++; }
END(lost_update) { printf("%d\n", lost_update); }

static volatile int lost_loop;
CASE(lost_loop, harmful);
A(lost_loop) { for (int i = 0; i < 20; i++) lost_loop++; }
B(lost_loop) { for (int i = 0; i < 20; i++) lost_loop++; }
END(lost_loop) { printf("%d\n", lost_loop); }

static volatile int lost_bit;
CASE(lost_bit, harmful);
A(lost_bit) { lost_bit |= 1; }
B(lost_bit) { lost_bit |= 2; }
END(lost_bit) { printf("%d\n", lost_bit); }

static volatile int lost_maximum;
CASE(lost_maximum, harmful);
A(lost_maximum) { if (5 > lost_maximum) lost_maximum = 5; }
B(lost_maximum) { if (9 > lost_maximum) lost_maximum = 9; }
END(lost_maximum) { printf("%d\n", lost_maximum); }

static volatile int lost_reference = 2;
static atomic_int lost_reference_freed;
CASE(lost_reference, harmful);
A(lost_reference) { if (--lost_reference == 0) lost_reference_freed++; }
B(lost_reference) { if (--lost_reference == 0) lost_reference_freed++; }
END(lost_reference) { printf("freed %d\n", lost_reference_freed); }

/* Checks and acts. */

static volatile int withdrawn = 100;
CASE(withdrawn, harmful);
A(withdrawn) { if (withdrawn >= 60) withdrawn -= 60; }
B(withdrawn) { if (withdrawn >= 60) withdrawn -= 60; }
END(withdrawn) { printf("%d\n", withdrawn); }

static volatile int taken;
static atomic_int taken_by;
CASE(taken, harmful);
A(taken) { if (!taken) { taken = 1; taken_by++; } }
B(taken) { if (!taken) { taken = 1; taken_by++; } }
END(taken) { printf("%d\n", taken_by); }

static volatile int first_owner;
CASE(first_owner, harmful);
A(first_owner) { if (!first_owner) first_owner = 1; }
B(first_owner) { if (!first_owner) first_owner = 2; }
END(first_owner) { printf("%d\n", first_owner); }

static int *volatile lazy;
static atomic_int lazy_made;
CASE(lazy, harmful);
A(lazy) { if (!lazy) { lazy_made++; lazy = malloc(8); } }
B(lazy) { if (!lazy) { lazy_made++; lazy = malloc(8); } }
END(lazy) { printf("%d\n", lazy_made); }

static int reset_value = 3;
static int *volatile reset_pointer = &reset_value;
CASE(reset_pointer, harmful);
A(reset_pointer) { spend(20); reset_pointer = NULL; }
B(reset_pointer) { if (reset_pointer) sink = *reset_pointer; }
END(reset_pointer) { puts("done"); }

/* ABA on a stack of array indices: top is read, and compared again. */
static volatile int aba_top;
static volatile int aba_next[3] = {1, 2, -1};
CASE(aba_top, harmful);
A(aba_top)
{
	int old = aba_top, next = aba_next[old];

	spend(30);
	if (aba_top == old)
		aba_top = next;
}
B(aba_top)
{
	aba_top = 1;
	aba_top = 2;
	aba_next[0] = 2;
	aba_top = 0;
}
END(aba_top) { printf("%d\n", aba_top); }

/* Orders. */

static volatile int last_writer;
CASE(last_writer, harmful);
A(last_writer) { last_writer = 1; }
B(last_writer) { last_writer = 2; }
END(last_writer) { printf("%d\n", last_writer); }

static volatile int too_early;
CASE(too_early, harmful);
A(too_early) { too_early = 42; }
B(too_early) { printf("%d\n", too_early); }
END(too_early) { }

static int *volatile unpublished;
CASE(unpublished, harmful);
A(unpublished) { unpublished = &reset_value; }
B(unpublished) { spend(100); sink = *unpublished; }
END(unpublished) { puts("done"); }

static volatile int torn_low, torn;
CASE(torn, harmful);
A(torn) { torn_low = 1; torn = 1; }
B(torn) { int low = torn_low, high = torn; printf("%d %d\n", low, high); }
END(torn) { }

static volatile int moved = 50;
static volatile int moved_other = 50;
CASE(moved, harmful);
A(moved) { moved -= 10; moved_other += 10; }
B(moved) { printf("%d\n", moved + moved_other); }
END(moved) { }

static volatile int subscript;
static volatile int subscript_table[4];
CASE(subscript, harmful);
A(subscript) { subscript = 3; }
B(subscript) { subscript_table[subscript] = 1; }
END(subscript) { printf("%d %d\n", subscript_table[0], subscript_table[3]); }

static volatile int asserted;
CASE(asserted, harmful);
A(asserted) { asserted = 1; }
B(asserted) { spend(100); assert(asserted); }
END(asserted) { puts("done"); }

static volatile int exit_code;
CASE(exit_code, harmful);
A(exit_code) { exit_code = 3; }
B(exit_code) { exit_code = 4; }
END(exit_code) { status = exit_code; }

static volatile int in_file;
CASE(in_file, harmful);
A(in_file) { in_file = 3; }
B(in_file) { in_file = 4; }
END(in_file)
{
	FILE *f = fopen("/tmp/in_file", "w");

	fprintf(f, "%d\n", in_file);
	fclose(f);
}

static sem_t never;
static volatile int wait_for_ever;
CASE(wait_for_ever, harmful);
A(wait_for_ever) { wait_for_ever = 1; }
B(wait_for_ever) { spend(100); if (!wait_for_ever) sem_wait(&never); }
END(wait_for_ever) { puts("done"); }

static volatile int turns, spin_for_ever;
CASE(spin_for_ever, harmful);
A(spin_for_ever) { spin_for_ever = 1; }
B(spin_for_ever) { spend(100); if (!spin_for_ever) for (;;) turns++; }
END(spin_for_ever) { puts("done"); }

/* Nobody is told: statistics and notes. */

static volatile int statistics;
CASE(statistics, state_differs);
A(statistics) { statistics++; }
B(statistics) { statistics++; }
END(statistics) { puts("done"); }

static volatile int note;
CASE(note, state_differs);
A(note) { note = 1; }
B(note) { note = 2; }
END(note) { puts("done"); }

static volatile long stamp;
CASE(stamp, state_differs);
A(stamp) { stamp = 1000; }
B(stamp) { stamp = 2000; }
END(stamp) { puts("done"); }

static volatile int least = 99;
CASE(least, state_differs);
A(least) { if (least > 5) least = 5; }
B(least) { if (least > 3) least = 3; }
END(least) { puts("done"); }

static volatile short recent[2];
CASE(recent, state_differs);
A(recent) { recent[0] = 7; }
B(recent) { recent[0] = 8; }
END(recent) { puts("done"); }

static volatile int copied, copied_from;
CASE(copied_from, state_differs);
A(copied_from) { copied_from = 4; }
B(copied_from) { copied = copied_from; }
END(copied_from) { puts("done"); }

/* It makes no difference. */

static volatile int same_value;
CASE(same_value, no_difference);
A(same_value) { same_value = 1; }
B(same_value) { same_value = 1; }
END(same_value) { printf("%d\n", same_value); }

static volatile int redundant = 7;
CASE(redundant, no_difference);
A(redundant) { redundant = 7; }
B(redundant) { printf("%d\n", redundant); }
END(redundant) { }

static pthread_mutex_t checked_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int checked;
static void check(void)
{
	if (!checked) {
		pthread_mutex_lock(&checked_lock);
		if (!checked)
			checked = 42;
		pthread_mutex_unlock(&checked_lock);
	}
}
CASE(checked, no_difference);
A(checked) { check(); }
B(checked) { check(); }
END(checked) { printf("%d\n", checked); }

static volatile int flag_spin;
CASE(flag_spin, no_difference);
A(flag_spin) { spend(50); flag_spin = 1; }
B(flag_spin) { while (!flag_spin) ; }
END(flag_spin) { puts("done"); }

static volatile int stop_yield;
CASE(stop_yield, no_difference);
A(stop_yield) { spend(50); stop_yield = 1; }
B(stop_yield) { while (!stop_yield) sched_yield(); }
END(stop_yield) { puts("done"); }

static volatile int progress;
CASE(progress, no_difference);
A(progress) { progress = 10; }
B(progress) { int p = progress; if (p < 0) puts("negative"); }
END(progress) { puts("done"); }

static volatile int idempotent, idempotent_value;
CASE(idempotent, no_difference);
A(idempotent) { if (!idempotent) { idempotent_value = 5; idempotent = 1; } }
B(idempotent) { if (!idempotent) { idempotent_value = 5; idempotent = 1; } }
END(idempotent) { printf("%d\n", idempotent_value); }

static volatile int hint;
CASE(hint, no_difference);
A(hint) { hint = 1; }
B(hint) { int v = hint ? 6 * 7 : 7 * 6; printf("%d\n", v); }
END(hint) { }

static volatile int memo;
CASE(memo, no_difference);
A(memo) { if (!memo) memo = 3 * 14; }
B(memo) { if (!memo) memo = 3 * 14; }
END(memo) { printf("%d\n", memo); }

/* The other order cannot be. */

static volatile int spin_data, spin_data_set;
CASE(spin_data, infeasible);
A(spin_data) { spin_data = 5; spin_data_set = 1; }
B(spin_data) { while (!spin_data_set) ; printf("%d\n", spin_data); }
END(spin_data) { }

static int relaxed_data;
static atomic_int relaxed_set;
CASE(relaxed_data, infeasible);
A(relaxed_data) { relaxed_data = 5; atomic_store_explicit(&relaxed_set, 1, memory_order_relaxed); }
B(relaxed_data)
{
	while (!atomic_load_explicit(&relaxed_set, memory_order_relaxed))
		;
	printf("%d\n", relaxed_data);
}
END(relaxed_data) { }

static volatile int yield_data, yield_data_set;
CASE(yield_data, infeasible);
A(yield_data) { yield_data = 5; yield_data_set = 1; }
B(yield_data) { while (!yield_data_set) sched_yield(); printf("%d\n", yield_data); }
END(yield_data) { }

static volatile int boxed;
static volatile int *volatile boxed_pointer;
CASE(boxed, infeasible);
A(boxed) { boxed = 5; boxed_pointer = &boxed; }
B(boxed) { while (!boxed_pointer) ; printf("%d\n", *boxed_pointer); }
END(boxed) { }

static volatile int turn_data, turn;
CASE(turn_data, infeasible);
A(turn_data) { turn_data = 1; turn = 1; }
B(turn_data) { while (turn != 1) ; turn_data = 2; }
END(turn_data) { printf("%d\n", turn_data); }

static volatile int check_data, check_data_set;
CASE(check_data, infeasible);
A(check_data) { check_data = 5; check_data_set = 1; }
B(check_data) { spend(3000); if (check_data_set) sink = check_data; }
END(check_data) { puts("done"); }

/* Counts that free, last errors, fields of one word, handlers, double frees, hangs. */

static volatile int counted_refs = 2;
CASE(counted_refs, harmful);
static void drop(void)
{
	int left = counted_refs - 1;

	counted_refs = left;
	if (left == 0)
		puts("freed");
}
A(counted_refs) { drop(); }
B(counted_refs) { drop(); }
END(counted_refs) { }

static volatile int last_error;
CASE(last_error, harmful);
A(last_error) { last_error = 5; printf("A %d\n", last_error == 5); }
B(last_error) { last_error = 7; printf("B %d\n", last_error == 7); }
END(last_error) { }

static volatile struct { unsigned a : 4, b : 4; } fields;
CASE(fields, harmful);
A(fields) { fields.a = 3; }
B(fields) { fields.b = 5; }
END(fields) { printf("%u %u\n", fields.a, fields.b); }

static volatile int from_handler;
CASE(from_handler, harmful);
static void handled(int sig) { from_handler = sig; }
A(from_handler) { signal(SIGUSR1, handled); raise(SIGUSR1); }
B(from_handler) { printf("%d\n", from_handler != 0); }
END(from_handler) { }

static char *volatile freed_twice;
CASE(freed_twice, harmful);
static void release(void)
{
	char *p = freed_twice;

	freed_twice = NULL;
	free(p);
}
A(freed_twice) { if (!freed_twice) freed_twice = malloc(2000); release(); }
B(freed_twice) { release(); }
END(freed_twice) { puts("ok"); }

static volatile int never_again = 2;
CASE(never_again, harmful);
A(never_again) { never_again = 1; }
B(never_again) { never_again = 0; }
END(never_again) { while (never_again == 0) ; puts("done"); }

static volatile int put, got, slots[4];
CASE(put, harmful);
A(put) { for (int i = 1; i <= 3; i++) { slots[put % 4] = i; put++; } }
B(put)
{
	int sum = 0;

	while (got < put)
		sum += slots[got++ % 4];
	printf("%d\n", sum);
}
END(put) { }

static volatile int same_maximum;
CASE(same_maximum, no_difference);
A(same_maximum) { if (same_maximum < 5) same_maximum = 5; }
B(same_maximum) { if (same_maximum < 5) same_maximum = 5; }
END(same_maximum) { printf("%d\n", same_maximum); }

/* On the heap: reached by a name at the end, also through other objects. */

struct entry {
	struct entry *next;
	long hits;
};
static struct entry *entries;
static int *counts;

static void heap_count(void)
{
	if (!counts)
		counts = calloc(4, sizeof *counts);
}

__attribute__((constructor)) static void before(void)
{
	heap_count();
}

CASE(heap_count, state_differs);
A(heap_count) { counts[0]++; }
B(heap_count) { counts[0]++; }
END(heap_count) { }

static void listed_hits(void)
{
	for (int i = 0; i < 3; i++) {
		struct entry *e = calloc(1, sizeof *e);

		e->next = entries;
		entries = e;
	}
}

__attribute__((constructor)) static void listed(void)
{
	listed_hits();
}

CASE(listed_hits, state_differs);
A(listed_hits) { entries->next->next->hits++; }
B(listed_hits) { entries->next->next->hits++; }
END(listed_hits) { }

static struct entry *dropped_at;

static void dropped(void)
{
	dropped_at = calloc(1, sizeof *dropped_at);
}

__attribute__((constructor)) static void dropped_before(void)
{
	dropped();
}

CASE(dropped, no_difference);
A(dropped) { dropped_at->hits++; }
B(dropped) { dropped_at->hits++; }
END(dropped) { free(dropped_at); dropped_at = NULL; }

#define NAMED(name) {#name, name##_a, name##_b, name##_end}

static const struct named cases[] = {
	NAMED(lost_update), NAMED(lost_loop), NAMED(lost_bit), NAMED(lost_maximum), NAMED(lost_reference),
	NAMED(withdrawn), NAMED(taken), NAMED(first_owner), NAMED(lazy), NAMED(reset_pointer), NAMED(aba_top),
	NAMED(last_writer), NAMED(too_early), NAMED(unpublished), NAMED(torn), NAMED(moved), NAMED(subscript),
	NAMED(asserted), NAMED(exit_code), NAMED(in_file), NAMED(wait_for_ever), NAMED(spin_for_ever),
	NAMED(statistics), NAMED(note), NAMED(stamp), NAMED(least), NAMED(recent), NAMED(copied_from),
	NAMED(same_value), NAMED(redundant), NAMED(checked), NAMED(flag_spin), NAMED(stop_yield),
	NAMED(progress), NAMED(idempotent), NAMED(hint), NAMED(memo),
	NAMED(spin_data), NAMED(relaxed_data), NAMED(yield_data), NAMED(boxed), NAMED(turn_data), NAMED(check_data),
	NAMED(counted_refs), NAMED(last_error), NAMED(fields), NAMED(from_handler), NAMED(freed_twice), NAMED(never_again), NAMED(put), NAMED(same_maximum),
	NAMED(heap_count), NAMED(listed_hits), NAMED(dropped),
};

static void *run(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

int main(int argc, char **argv)
{
	sem_init(&never, 0, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		pthread_t a, b;

		if (argc < 2 || strcmp(argv[1], cases[i].name) != 0)
			continue;
		pthread_create(&a, NULL, run, cases[i].a);
		pthread_create(&b, NULL, run, cases[i].b);
		pthread_join(a, NULL);
		pthread_join(b, NULL);
		cases[i].end();
		return status;
	}
	return 2;
}
