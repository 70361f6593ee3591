/*
 * sort: records sorted by six algorithms.
 *
 *	sort [-n RECORDS] [-r ROUNDS] [-s SEED]
 *
 * Records have a key, a text and the place where they stood. Each algorithm
 * sorts the same records: shell sort, heap sort, quick sort with insertion sort
 * for small parts, merge sort, radix sort, and a binary tree. Checked: the order,
 * that no record is lost, and that the stable ones are stable.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
	uint32_t key;
	char text[8];
	int32_t place;
};

static long compared, moved;

static void fail(const char *what)
{
	fprintf(stderr, "sort: %s\n", what);
	exit(2);
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		fail("out of memory");
	return p;
}

static int less(const struct record *a, const struct record *b)
{
	compared++;
	if (a->key != b->key)
		return a->key < b->key;
	return memcmp(a->text, b->text, sizeof a->text) < 0;
}

static void move(struct record *to, const struct record *from)
{
	moved++;
	*to = *from;
}

static void swap(struct record *a, struct record *b)
{
	struct record t = *a;

	move(a, b);
	move(b, &t);
}

static void insertion(struct record *r, int n, int gap)
{
	for (int i = gap; i < n; i++) {
		struct record t = r[i];
		int j = i;
		for (; j >= gap && less(&t, &r[j - gap]); j -= gap)
			move(&r[j], &r[j - gap]);
		move(&r[j], &t);
	}
}

static void shell_sort(struct record *r, int n)
{
	for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
		insertion(r, n, gap);
}

static void sift(struct record *r, int i, int n)
{
	for (int child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && less(&r[child], &r[child + 1]))
			child++;
		if (!less(&r[i], &r[child]))
			return;
		swap(&r[i], &r[child]);
	}
}

static void heap_sort(struct record *r, int n)
{
	for (int i = n / 2 - 1; i >= 0; i--)
		sift(r, i, n);
	for (int i = n - 1; i > 0; i--) {
		swap(&r[0], &r[i]);
		sift(r, 0, i);
	}
}

static void quick_sort(struct record *r, int n)
{
	while (n > 12) {
		int middle = n / 2;
		if (less(&r[middle], &r[0]))
			swap(&r[middle], &r[0]);
		if (less(&r[n - 1], &r[middle])) {
			swap(&r[n - 1], &r[middle]);
			if (less(&r[middle], &r[0]))
				swap(&r[middle], &r[0]);
		}
		struct record pivot = r[middle];
		int i = 0, j = n - 1;
		while (i <= j) {
			while (less(&r[i], &pivot))
				i++;
			while (less(&pivot, &r[j]))
				j--;
			if (i <= j)
				swap(&r[i++], &r[j--]);
		}
		if (j + 1 < n - i) {
			quick_sort(r, j + 1);
			r += i;
			n -= i;
		} else {
			quick_sort(r + i, n - i);
			n = j + 1;
		}
	}
	insertion(r, n, 1);
}

static void merge_parts(struct record *r, struct record *scratch, int n)
{
	if (n < 2)
		return;
	int half = n / 2, a = 0, b = half, out = 0;
	merge_parts(r, scratch, half);
	merge_parts(r + half, scratch, n - half);
	while (a < half && b < n) {
		if (less(&r[b], &r[a]))
			move(&scratch[out++], &r[b++]);
		else
			move(&scratch[out++], &r[a++]);
	}
	while (a < half)
		move(&scratch[out++], &r[a++]);
	for (int i = 0; i < out; i++)
		move(&r[i], &scratch[i]);
}

static void merge_sort(struct record *r, int n)
{
	struct record *scratch = allocate((size_t)n, sizeof *scratch);

	merge_parts(r, scratch, n);
	free(scratch);
}

/* digit number d of a record, the text's last letter first. */
static unsigned digit(const struct record *r, int d)
{
	return d < 8 ? (unsigned char)r->text[7 - d] : r->key >> 8 * (d - 8) & 255;
}

static void radix_sort(struct record *r, int n)
{
	struct record *scratch = allocate((size_t)n, sizeof *scratch);

	for (int d = 0; d < 12; d++) {
		int start[257] = {0};
		for (int i = 0; i < n; i++)
			start[digit(&r[i], d) + 1]++;
		for (int i = 0; i < 256; i++)
			start[i + 1] += start[i];
		for (int i = 0; i < n; i++)
			move(&scratch[start[digit(&r[i], d)]++], &r[i]);
		struct record *t = r; /* twelve digits: it ends where it began */
		r = scratch;
		scratch = t;
	}
	free(scratch);
}

struct leaf {
	struct record record;
	struct leaf *low, *high;
};

static struct record *walk(const struct leaf *t, struct record *out)
{
	if (!t)
		return out;
	out = walk(t->low, out);
	move(out++, &t->record);
	return walk(t->high, out);
}

static void tree_sort(struct record *r, int n)
{
	struct leaf *leaves = allocate((size_t)n, sizeof *leaves), *root = NULL;

	for (int i = 0; i < n; i++) {
		struct leaf **at = &root;
		while (*at)
			at = less(&r[i], &(*at)->record) ? &(*at)->low : &(*at)->high;
		*at = &leaves[i];
		move(&leaves[i].record, &r[i]);
	}
	walk(root, r);
	free(leaves);
}

static const struct {
	const char *name;
	void (*sort)(struct record *, int);
	int stable;
} algorithms[] = {
	{"shell", shell_sort, 0}, {"heap", heap_sort, 0}, {"quick", quick_sort, 0},
	{"merge", merge_sort, 1}, {"radix", radix_sort, 1}, {"tree", tree_sort, 1},
};
#define ALGORITHMS 6

static void fill(struct record *r, int n, uint32_t *state)
{
	for (int i = 0; i < n; i++) {
		*state = *state * 1664525u + 1013904223u;
		r[i].key = (*state >> 8) % (uint32_t)n;
		for (int j = 0; j < 8; j++)
			r[i].text[j] = (char)('a' + (*state >> (j + 16)) % 4);
		r[i].place = i;
	}
}

static int sorted(const struct record *r, int n, int stable)
{
	int64_t places = n > 0 ? r[0].place : 0;

	for (int i = 1; i < n; i++) {
		places += r[i].place;
		if (less(&r[i], &r[i - 1]))
			return 0;
		if (stable && !less(&r[i - 1], &r[i]) && r[i].place < r[i - 1].place)
			return 0;
	}
	return places == (int64_t)n * (n - 1) / 2;
}

int main(int argc, char **argv)
{
	long n = 300, rounds = 1;
	uint32_t state = 1;
	int ok = 1;

	for (int c; (c = getopt(argc, argv, "n:r:s:")) != -1;) {
		switch (c) {
		case 'n': n = strtol(optarg, NULL, 10); break;
		case 'r': rounds = strtol(optarg, NULL, 10); break;
		case 's': state = (uint32_t)strtoul(optarg, NULL, 10); break;
		default: fail("usage: sort [-n RECORDS] [-r ROUNDS] [-s SEED]");
		}
	}
	if (n < 1 || n > 1000000 || rounds < 1 || rounds > 1000000)
		fail("-n and -r: want 1 to 1000000");
	struct record *input = allocate((size_t)n, sizeof *input), *r = allocate((size_t)n, sizeof *r);
	for (long round = 0; round < rounds; round++) {
		fill(input, (int)n, &state);
		for (int a = 0; a < ALGORITHMS; a++) {
			memcpy(r, input, (size_t)n * sizeof *r);
			algorithms[a].sort(r, (int)n);
			ok = ok && sorted(r, (int)n, algorithms[a].stable);
		}
	}
	printf("sort: %ld records, %ld rounds, %ld compared, %ld moved: %s\n", n, rounds, compared, moved, ok ? "PASS" : "FAIL");
	return !ok;
}
