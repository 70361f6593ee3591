/*
 * structures: data structures whose shape the data decides.
 *
 *	structures hash|btree|keys|graph|json [-n SIZE] [-s SEED]
 *
 * hash	a chained hash table: words are counted, looked up and deleted
 * btree	a B-tree: random keys are inserted, looked up, and walked in order
 * keys	random keys are sorted by quick sort, by heap sort and by qsort
 * graph	breadth-first searches of a random graph
 * json	a random text is parsed into a tree, which is added up
 *
 * Each part checks its result in another way than it was found.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void fail(const char *what)
{
	fprintf(stderr, "structures: %s\n", what);
	exit(2);
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		fail("out of memory");
	return p;
}

/* The hash table. */

struct word {
	struct word *next;
	uint64_t hash;
	long count;
	char text[16];
};

static struct word **table;
static uint64_t buckets, words;

static uint64_t hash_of(const char *s)
{
	uint64_t h = 14695981039346656037u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211u;
	return h ^ h >> 29;
}

static void grow(void)
{
	uint64_t old = buckets;
	struct word **from = table;

	buckets = old ? 2 * old : 64;
	table = allocate(buckets, sizeof *table);
	for (uint64_t i = 0; i < old; i++)
		for (struct word *w = from[i], *next; w; w = next) {
			struct word **at = &table[w->hash % buckets];
			next = w->next;
			w->next = *at;
			*at = w;
		}
	free(from);
}

static struct word **find(const char *text, uint64_t hash)
{
	struct word **at = &table[hash % buckets];

	while (*at && ((*at)->hash != hash || strcmp((*at)->text, text)))
		at = &(*at)->next;
	return at;
}

static void spell(char *text)
{
	uint64_t r = chance();
	int n = 3 + r % 5;

	for (int i = 0; i < n; i++)
		text[i] = "etaoinshrdlucmfw"[r >> (8 + 4 * i) & 15];
	text[n] = 0;
}

static int hash_table(long n, long *result)
{
	long added = 0, removed = 0, sum = 0;
	char text[16];

	grow();
	for (long i = 0; i < n; i++) {
		spell(text);
		uint64_t h = hash_of(text);
		struct word **at = find(text, h);
		if (!*at) {
			if (words == buckets) {
				grow();
				at = find(text, h);
			}
			struct word *w = allocate(1, sizeof *w);
			strcpy(w->text, text);
			w->hash = h;
			*at = w;
			words++;
		}
		(*at)->count++;
		added++;
		if (chance() % 8 == 0) {
			spell(text);
			struct word **old = find(text, hash_of(text)), *w = *old;
			if (w) {
				removed += w->count;
				*old = w->next;
				free(w);
				words--;
			}
		}
	}
	for (uint64_t i = 0; i < buckets; i++)
		for (struct word *w = table[i]; w; w = w->next)
			sum += w->count;
	*result = (long)words;
	return sum == added - removed;
}

/* The B-tree. */

enum { ORDER = 16 };

struct node {
	int n, leaf;
	uint64_t key[2 * ORDER - 1];
	uint64_t value[2 * ORDER - 1];
	struct node *child[2 * ORDER];
};

static struct node *new_node(int leaf)
{
	struct node *x = allocate(1, sizeof *x);

	x->leaf = leaf;
	return x;
}

static void split(struct node *x, int i)
{
	struct node *y = x->child[i], *z = new_node(y->leaf);

	z->n = ORDER - 1;
	memcpy(z->key, y->key + ORDER, (ORDER - 1) * sizeof *z->key);
	memcpy(z->value, y->value + ORDER, (ORDER - 1) * sizeof *z->value);
	if (!y->leaf)
		memcpy(z->child, y->child + ORDER, ORDER * sizeof *z->child);
	y->n = ORDER - 1;
	for (int j = x->n; j > i; j--) {
		x->child[j + 1] = x->child[j];
		x->key[j] = x->key[j - 1];
		x->value[j] = x->value[j - 1];
	}
	x->child[i + 1] = z;
	x->key[i] = y->key[ORDER - 1];
	x->value[i] = y->value[ORDER - 1];
	x->n++;
}

static int place(const struct node *x, uint64_t key)
{
	int low = 0, high = x->n;

	while (low < high) {
		int middle = (low + high) / 2;
		if (x->key[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct node *insert(struct node *root, uint64_t key, uint64_t value, long *added)
{
	struct node *x = root;

	if (x->n == 2 * ORDER - 1) {
		root = new_node(0);
		root->child[0] = x;
		split(root, 0);
		x = root;
	}
	for (;;) {
		int i = place(x, key);
		if (i < x->n && x->key[i] == key) {
			x->value[i] += value;
			return root;
		}
		if (x->leaf) {
			for (int j = x->n++; j > i; j--) {
				x->key[j] = x->key[j - 1];
				x->value[j] = x->value[j - 1];
			}
			x->key[i] = key;
			x->value[i] = value;
			++*added;
			return root;
		}
		if (x->child[i]->n == 2 * ORDER - 1) {
			split(x, i);
			continue;
		}
		x = x->child[i];
	}
}

static int ordered(const struct node *x, uint64_t *last, long *seen)
{
	for (int i = 0; i <= x->n; i++) {
		if (!x->leaf && !ordered(x->child[i], last, seen))
			return 0;
		if (i < x->n) {
			if (*seen && x->key[i] <= *last)
				return 0;
			*last = x->key[i];
			++*seen;
		}
	}
	return 1;
}

static int b_tree(long n, long *result)
{
	struct node *root = new_node(1);
	long added = 0, seen = 0, hits = 0;
	uint64_t last = 0;

	for (long i = 0; i < n; i++)
		root = insert(root, chance() % (4 * n), i, &added);
	for (long i = 0; i < n; i++) {
		uint64_t key = chance() % (4 * n);
		for (struct node *x = root;;) {
			int at = place(x, key);
			if (at < x->n && x->key[at] == key) {
				hits++;
				break;
			}
			if (x->leaf)
				break;
			x = x->child[at];
		}
	}
	*result = hits;
	return ordered(root, &last, &seen) && seen == added;
}

/* The sorts. */

static void quick_sort(uint32_t *a, long n)
{
	while (n > 8) {
		uint32_t pivot = a[chance() % n];
		long i = 0, j = n - 1;
		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (pivot < a[j])
				j--;
			if (i <= j) {
				uint32_t t = a[i];
				a[i++] = a[j];
				a[j--] = t;
			}
		}
		quick_sort(a, j + 1);
		a += i;
		n -= i;
	}
	for (long i = 1; i < n; i++) {
		uint32_t t = a[i];
		long j = i;
		for (; j > 0 && t < a[j - 1]; j--)
			a[j] = a[j - 1];
		a[j] = t;
	}
}

static void sift(uint32_t *a, long i, long n)
{
	uint32_t t = a[i];

	for (long child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && a[child] < a[child + 1])
			child++;
		if (t >= a[child])
			break;
		a[i] = a[child];
	}
	a[i] = t;
}

static void heap_sort(uint32_t *a, long n)
{
	for (long i = n / 2 - 1; i >= 0; i--)
		sift(a, i, n);
	for (long i = n - 1; i > 0; i--) {
		uint32_t t = a[0];
		a[0] = a[i];
		a[i] = t;
		sift(a, 0, i);
	}
}

static int by_key(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

static int sorts(long n, long *result)
{
	uint32_t *a = allocate(n, sizeof *a), *b = allocate(n, sizeof *b), *c = allocate(n, sizeof *c);
	uint32_t before = 0, after = 0;

	for (long i = 0; i < n; i++) {
		a[i] = b[i] = c[i] = (uint32_t)(chance() >> 16);
		before += a[i];
	}
	quick_sort(a, n);
	heap_sort(b, n);
	qsort(c, n, sizeof *c, by_key);
	for (long i = 0; i < n; i++) {
		after += a[i];
		if (a[i] != b[i] || a[i] != c[i] || (i && a[i] < a[i - 1]))
			return 0;
	}
	*result = a[n / 2];
	return before == after;
}

/* The graph. */

static int graph(long n, long *result)
{
	long edges = 4 * n, reached = 0;
	uint32_t *from = allocate(edges, sizeof *from), *to = allocate(edges, sizeof *to);
	uint32_t *first = allocate(n + 1, sizeof *first), *other = allocate(2 * edges, sizeof *other);
	uint32_t *queue = allocate(n, sizeof *queue);
	int32_t *far = allocate(n, sizeof *far);

	for (long i = 0; i < edges; i++) {
		first[from[i] = chance() % n]++;
		first[to[i] = chance() % n]++;
	}
	for (long i = 0; i < n; i++)
		first[i + 1] += first[i];
	for (long i = 0; i < edges; i++) {
		other[--first[from[i]]] = to[i];
		other[--first[to[i]]] = from[i];
	}
	for (int search = 0; search < 4; search++) {
		long head = 0, tail = 0;
		for (long i = 0; i < n; i++)
			far[i] = -1;
		queue[tail] = chance() % n;
		far[queue[tail++]] = 0;
		while (head < tail) {
			uint32_t u = queue[head++];
			for (uint32_t e = first[u]; e < first[u + 1]; e++)
				if (far[other[e]] < 0) {
					far[other[e]] = far[u] + 1;
					queue[tail++] = other[e];
				}
		}
		reached += tail;
		for (long i = 0; i < edges; i++) {
			int32_t d = far[from[i]] - far[to[i]];
			if (d < -1 || d > 1)
				return 0;
		}
	}
	*result = reached;
	return 1;
}

/* JSON. */

struct json {
	enum { LIST, OBJECT, NUMBER, STRING, TRUTH } kind;
	double number;
	char *text;
	struct json *child, *next;
};

static char *out, *end;
static const char *in;

static void put(const char *s)
{
	while (*s && out < end)
		*out++ = *s++;
}

/* write_value writes a random value and gives the sum of its numbers. */
static long write_value(int depth, long room)
{
	char text[32];
	uint64_t r = chance();
	long sum = 0, n;

	switch (depth > 0 && room > 1 ? 6 : r % 6) {
	case 0:
		put(r >> 8 & 1 ? "true" : "null");
		return 0;
	case 1:
	case 2:
		spell(text);
		put("\"");
		put(text);
		put(r >> 8 & 1 ? "\\n\"" : "\"");
		return 0;
	case 3:
	case 4:
	case 5:
		sum = (long)(r >> 8 & 0xffff) - (r >> 24 & 0xff);
		snprintf(text, sizeof text, "%ld", sum);
		put(text);
		return sum;
	}
	n = 1 + r % (room < 12 ? room : 12);
	put(r >> 8 & 1 ? "{ " : "[");
	for (long i = 0; i < n; i++) {
		if (i)
			put(", ");
		if (r >> 8 & 1) {
			spell(text);
			put("\"");
			put(text);
			put("\": ");
		}
		sum += write_value(depth - 1, room / n);
	}
	put(r >> 8 & 1 ? "}" : "]");
	return sum;
}

static void blanks(void)
{
	while (*in == ' ' || *in == '\n' || *in == '\t')
		in++;
}

static char *read_string(void)
{
	const char *s = ++in;
	char *text, *t;

	while (*s && *s != '"')
		s += *s == '\\' && s[1] ? 2 : 1;
	t = text = allocate(s - in + 1, 1);
	while (in < s) {
		if (*in == '\\') {
			in++;
			*t++ = *in == 'n' ? '\n' : *in;
			in++;
		} else {
			*t++ = *in++;
		}
	}
	if (*in)
		in++;
	return text;
}

static struct json *read_value(void)
{
	struct json *v = allocate(1, sizeof *v), **tail = &v->child;
	char close;

	blanks();
	switch (*in) {
	case '"':
		v->kind = STRING;
		v->text = read_string();
		return v;
	case '{':
	case '[':
		v->kind = *in == '{' ? OBJECT : LIST;
		close = *in++ == '{' ? '}' : ']';
		for (blanks(); *in && *in != close; blanks()) {
			char *name = NULL;
			if (v->kind == OBJECT) {
				name = read_string();
				blanks();
				if (*in++ != ':')
					fail("no colon");
			}
			*tail = read_value();
			(*tail)->text = name ? name : (*tail)->text;
			tail = &(*tail)->next;
			blanks();
			if (*in == ',')
				in++;
		}
		if (*in)
			in++;
		return v;
	case 't':
	case 'n':
		v->kind = TRUTH;
		v->number = *in == 't';
		in += 4;
		return v;
	}
	v->kind = NUMBER;
	int minus = *in == '-';
	for (in += minus; *in >= '0' && *in <= '9'; in++)
		v->number = 10 * v->number + (*in - '0');
	if (minus)
		v->number = -v->number;
	return v;
}

static double add_up(const struct json *v)
{
	double sum = v->kind == NUMBER ? v->number : 0;

	for (const struct json *c = v->child; c; c = c->next)
		sum += add_up(c);
	return sum;
}

static void discard(struct json *v)
{
	for (struct json *c = v->child, *next; c; c = next) {
		next = c->next;
		discard(c);
	}
	free(v->text);
	free(v);
}

static int json(long n, long *result)
{
	char *text = allocate(1 << 16, 1);

	for (long i = 0; i < n; i++) {
		out = text;
		end = text + (1 << 16) - 1;
		long sum = write_value(4, 100);
		*out = 0;
		in = text;
		struct json *v = read_value();
		if (*in || (long)add_up(v) != sum)
			return 0;
		discard(v);
		*result += sum;
	}
	return 1;
}

static const struct part {
	const char *name;
	int (*run)(long n, long *result);
	long n;
} parts[] = {
	{ "hash", hash_table, 3000 }, { "btree", b_tree, 2000 }, { "keys", sorts, 3000 },
	{ "graph", graph, 2000 },     { "json", json, 30 },
};

static long number(const char *text)
{
	char *rest;

	errno = 0;
	long n = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || n < 1 || n > 100000000)
		fail("want a number from 1 to 100000000");
	return n;
}

int main(int argc, char **argv)
{
	const struct part *p = NULL;
	long n = 0, result = 0;

	for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(argv[1], parts[i].name))
			p = &parts[i];
	if (!p)
		fail("want hash, btree, keys, graph or json");
	for (int c; (c = getopt(argc - 1, argv + 1, "n:s:")) != -1;)
		switch (c) {
		case 'n':
			n = number(optarg);
			break;
		case 's':
			state ^= (uint64_t)number(optarg) * 0x9e3779b97f4a7c15u;
			break;
		default:
			return 2;
		}
	if (!n)
		n = p->n;
	int right = p->run(n, &result);
	printf("structures: %s of %ld, %ld: %s\n", p->name, n, result, right ? "PASS" : "FAIL");
	return !right;
}
