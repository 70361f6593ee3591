/*
 * gcc's atomic builtin functions on bytes and short integers, whose relaxed forms
 * are ordinary loads and stores: only the text of the source tells them apart.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "builtins.h"
#include "pair.h"

static void three(void *(*f)(void *), int broken)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, f, (void *)(long)broken);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static bool bytes_line_x;
static void *bytes_line(void *broken)
{
	long seen = 0;

	for (int i = 0; i < 5; i++) {
		__atomic_store_n(&bytes_line_x, i & 1, __ATOMIC_RELAXED); seen += __atomic_load_n(&bytes_line_x, __ATOMIC_RELAXED);
		if (__atomic_load_n(&bytes_line_x, __ATOMIC_RELAXED)) seen++; else __atomic_store_n(&bytes_line_x, 1, __ATOMIC_RELAXED);
		if (broken)
			seen += bytes_line_x;
	}
	return (void *)seen;
}
PAIR(bytes_line, "__atomic_store_n and __atomic_load_n of a bool on one line")
{
	three(bytes_line, broken);
	printf("done\n");
}

static short bytes_macro_x;
static void *bytes_macro(void *broken)
{
	long seen = 0;

	for (int i = 0; i < 5; i++) {
		SET(bytes_macro_x, i);
		seen += GET(bytes_macro_x);
		assert(GET(bytes_macro_x) < 7);
		if (broken)
			bytes_macro_x = 3;
	}
	return (void *)seen;
}
PAIR(bytes_macro, "macros of __atomic_store_n and __atomic_load_n, on a short")
{
	three(bytes_macro, broken);
	printf("done\n");
}

static bool bytes_header_x[4];
static void *bytes_header(void *broken)
{
	long seen = 0;

	for (int i = 0; i < 8; i++) {
		if (broken && i == 5)
			bytes_header_x[2] = true;
		set_flag(&bytes_header_x[i & 3], i & 4);
		seen += flag_is_set(&bytes_header_x[2]);
	}
	return (void *)seen;
}
PAIR(bytes_header, "flags of a bool that an inline function of a header sets")
{
	three(bytes_header, broken);
	printf("done\n");
}
