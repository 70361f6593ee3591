/*
 * pair.h: programs of many small twins, one for each way to synchronise.
 *
 * PAIR(name, "construct") { … } defines both twins of a pair: what broken is
 * false runs correctly synchronised, what broken is true lacks it. Everything
 * that the broken twin races on is a variable whose name begins with the
 * pair's. A correct twin prints the same whatever the schedule.
 *
 *	PROGRAM race_NAME      run the broken twin
 *	PROGRAM norace_NAME    run the correct one
 */
#ifndef PAIR_H
#define PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	const char *name;
	void (*run)(int broken);
};

static struct pair pairs[96];
static int pair_count;

#define PAIR(pair_name, construct)                                           \
	static void pair_##pair_name(int broken);                            \
	__attribute__((constructor)) static void pair_add_##pair_name(void)  \
	{                                                               \
		pairs[pair_count].name = #pair_name;                         \
		pairs[pair_count++].run = pair_##pair_name;                  \
	}                                                               \
	static void pair_##pair_name(int broken)

int main(int argc, char **argv)
{
	const char *want = argc > 1 ? argv[1] : "";
	int broken = strncmp(want, "race_", 5) == 0;

	if (broken || strncmp(want, "norace_", 7) == 0)
		for (int i = 0; i < pair_count; i++)
			if (strcmp(pairs[i].name, want + (broken ? 5 : 7)) == 0) {
				pairs[i].run(broken);
				return 0;
			}
	for (int i = 0; i < pair_count; i++)
		printf("%s\n", pairs[i].name);
	return 2;
}

#endif
