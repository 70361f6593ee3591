// What was not executed can be why a value is wrong. The first argument says, a
// digit each, which decisions go the other way; what is printed says which of the
// values that changes.
#include <stdio.h>
#include <stdlib.h>

struct item {
	long key, weight;
	struct item *next;
};

static long limit = 3;
static long unused;

static void raise_limit(long by)
{
	limit += by;
}

static long on_stack(const char *flip)
{
	long weight = 1;
	if (flip[0] == '1') // DECIDES
		weight = 10;
	long seen = weight; // SINK
	return seen;
}

static long through_pointer(const char *flip)
{
	int count = 5;
	int *p = &count;
	if (flip[1] == '1') // DECIDES
		*p = 50;
	int seen = count; // SINK
	return seen;
}

static long on_heap(struct item *list, const char *flip)
{
	list->next->weight = 2;
	for (struct item *i = list; i; i = i->next)
		if (flip[2] == '1') // DECIDES
			i->weight = 20;
	long seen = list->next->weight; // SINK
	return seen;
}

static long in_global(const char *flip)
{
	if (flip[3] == '1') // DECIDES
		raise_limit(4);
	long seen = limit; // SINK
	return seen;
}

int main(int argc, char **argv)
{
	const char *flip = argc > 1 ? argv[1] : "00000";
	struct item *list = calloc(1, sizeof *list);
	list->next = calloc(1, sizeof *list);
	if (flip[4] == '1') // DECIDES
		unused = 7;
	printf("%ld %ld ", on_stack(flip), through_pointer(flip));
	printf("%ld ", on_heap(list, flip));
	printf("%ld\n", in_global(flip));
	return 0;
}
