/*
 * compiler: translates functions of a small language that it makes up itself.
 *
 *	compiler [-n FUNCTIONS] [-s SEED]
 *
 * Each function goes the way of a real one: its text is written, cut into
 * tokens, parsed into a tree with a scoped symbol table, folded and simplified,
 * and put out as code for a machine with registers, which a peephole pass
 * shortens. Checked: the code, executed, gives what the tree gave before the
 * optimiser saw it.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "compiler: %s\n", what);
	exit(2);
}

/* ---- the text of a function ---- */

static uint32_t state;

static unsigned dice(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 10) % n;
}

static char text[1 << 16];
static int length;

static void put(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	length += vsnprintf(text + length, sizeof text - length, format, list);
	va_end(list);
	if (length >= (int)sizeof text)
		fail("a function is too long");
}

static const char *const names[] = {"alpha", "beta", "count", "delta", "index", "limit", "sum", "total"};
#define NAMES 8

static void make_expression(int depth)
{
	static const char *const operators[] = {"+", "-", "*", "&", "|", "^", "<", "=="};

	if (depth == 0 || dice(5) == 0) {
		if (dice(3) == 0)
			put("%u", dice(dice(4) ? 10 : 1000));
		else
			put("%s", names[dice(NAMES)]);
		return;
	}
	put("(");
	make_expression(depth - 1);
	put(" %s ", operators[dice(8)]);
	make_expression(depth - 1);
	put(")");
}

static void make_statement(int depth)
{
	unsigned kind = depth == 0 ? 0 : dice(6);

	switch (kind) {
	case 0: case 1: case 2:
		put("%s = ", names[dice(NAMES)]);
		make_expression(3);
		put(";\n");
		break;
	case 3:
		put("if (");
		make_expression(2);
		put(") {\n");
		make_statement(depth - 1);
		put("} else {\n");
		make_statement(depth - 1);
		put("}\n");
		break;
	case 4:
		put("repeat %u {\n", 1 + dice(3));
		make_statement(depth - 1);
		put("}\n");
		break;
	default:
		put("{ var %s = ", names[dice(NAMES)]);
		make_expression(1);
		put(";\n");
		make_statement(depth - 1);
		make_statement(depth - 1);
		put("}\n");
	}
}

static void make_function(void)
{
	length = 0;
	for (int i = 0; i < NAMES; i++)
		put("var %s = %u;\n", names[i], dice(100));
	for (int n = 4 + dice(8); n > 0; n--)
		make_statement(3);
	put("return ");
	make_expression(4);
	put(";\n");
}

/* ---- tokens ---- */

enum { END, NAME, NUMBER, VAR, IF, ELSE, REPEAT, RETURN, EQUAL, /* else the character */ };

static const char *at;
static int token, value, tokens;
static char word[32];

static int keyword(void)
{
	static const struct { const char *word; int token; } table[] = {
		{"var", VAR}, {"if", IF}, {"else", ELSE}, {"repeat", REPEAT}, {"return", RETURN},
	};

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(word, table[i].word) == 0)
			return table[i].token;
	return NAME;
}

static void next(void)
{
	tokens++;
	while (*at == ' ' || *at == '\n')
		at++;
	if (*at >= 'a' && *at <= 'z') {
		int n = 0;
		while (*at >= 'a' && *at <= 'z' && n < (int)sizeof word - 1)
			word[n++] = *at++;
		word[n] = 0;
		token = keyword();
	} else if (*at >= '0' && *at <= '9') {
		for (value = 0; *at >= '0' && *at <= '9'; at++)
			value = value * 10 + (*at - '0');
		token = NUMBER;
	} else if (at[0] == '=' && at[1] == '=') {
		at += 2;
		token = EQUAL;
	} else {
		token = *at ? *at++ : END;
	}
}

static void expect(int wanted)
{
	if (token != wanted)
		fail("a syntax error");
	next();
}

/* ---- scopes ---- */

#define BUCKETS 64

struct symbol {
	char name[32];
	int slot, scope;
	struct symbol *same_bucket, *before;
};

static struct symbol *buckets[BUCKETS], *newest, symbols[1024];
static int symbol_count, scope, slots, declared;

static unsigned hash(const char *s)
{
	unsigned h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h % BUCKETS;
}

static int declare(const char *name)
{
	unsigned h = hash(name);

	if (symbol_count == 1024)
		fail("too many symbols");
	struct symbol *s = &symbols[symbol_count++];
	strcpy(s->name, name);
	s->slot = slots++;
	s->scope = scope;
	s->same_bucket = buckets[h];
	s->before = newest;
	buckets[h] = newest = s;
	declared++;
	return s->slot;
}

static int find(const char *name)
{
	for (struct symbol *s = buckets[hash(name)]; s; s = s->same_bucket)
		if (strcmp(s->name, name) == 0)
			return s->slot;
	fail("an unknown name");
	return 0;
}

static void leave_scope(void)
{
	for (; newest && newest->scope == scope; newest = newest->before) {
		buckets[hash(newest->name)] = newest->same_bucket;
		symbol_count--;
	}
	scope--;
}

/* ---- the tree ---- */

enum kind { CONST, LOAD, BINARY, ASSIGN, BRANCH, LOOP, SEQUENCE, RESULT, NOTHING };

struct tree {
	enum kind kind;
	int op, value; /* of LOAD and ASSIGN: the slot; of LOOP: how often */
	struct tree *a, *b, *c;
};

static struct tree arena[1 << 14];
static int used;

static struct tree *node(enum kind kind, int op, int val, struct tree *a, struct tree *b, struct tree *c)
{
	if (used == 1 << 14)
		fail("a tree is too big");
	struct tree *t = &arena[used++];
	*t = (struct tree){kind, op, val, a, b, c};
	return t;
}

static struct tree *expression(void)
{
	if (token == NUMBER) {
		struct tree *t = node(CONST, 0, value, NULL, NULL, NULL);
		next();
		return t;
	}
	if (token == NAME) {
		struct tree *t = node(LOAD, 0, find(word), NULL, NULL, NULL);
		next();
		return t;
	}
	expect('(');
	struct tree *a = expression();
	int op = token;
	next();
	struct tree *b = expression();
	expect(')');
	return node(BINARY, op, 0, a, b, NULL);
}

static struct tree *sequence(int end);

static struct tree *block(void)
{
	expect('{');
	scope++;
	struct tree *t = sequence('}');
	leave_scope();
	expect('}');
	return t;
}

static struct tree *statement(void)
{
	struct tree *a, *b;
	int n;
	char name[sizeof word];

	switch (token) {
	case VAR:
		next();
		strcpy(name, word);
		expect(NAME);
		expect('=');
		a = expression();
		expect(';');
		return node(ASSIGN, 0, declare(name), a, NULL, NULL);
	case NAME:
		n = find(word);
		next();
		expect('=');
		a = expression();
		expect(';');
		return node(ASSIGN, 0, n, a, NULL, NULL);
	case IF:
		next();
		expect('(');
		a = expression();
		expect(')');
		b = block();
		expect(ELSE);
		return node(BRANCH, 0, 0, a, b, block());
	case REPEAT:
		next();
		n = value;
		expect(NUMBER);
		return node(LOOP, 0, n, block(), NULL, NULL);
	case RETURN:
		next();
		a = expression();
		expect(';');
		return node(RESULT, 0, 0, a, NULL, NULL);
	}
	return block();
}

static struct tree *sequence(int end)
{
	struct tree *t = node(NOTHING, 0, 0, NULL, NULL, NULL);

	while (token != end)
		t = node(SEQUENCE, 0, 0, t, statement(), NULL);
	return t;
}

static int32_t compute(int op, uint32_t a, uint32_t b)
{
	switch (op) {
	case '+': return (int32_t)(a + b);
	case '-': return (int32_t)(a - b);
	case '*': return (int32_t)(a * b);
	case '&': return (int32_t)(a & b);
	case '|': return (int32_t)(a | b);
	case '^': return (int32_t)(a ^ b);
	case '<': return (int32_t)a < (int32_t)b;
	default: return a == b;
	}
}

static int32_t variable[1024], result;

static int32_t evaluate(const struct tree *t)
{
	switch (t->kind) {
	case CONST: return t->value;
	case LOAD: return variable[t->value];
	case BINARY: {
		int32_t a = evaluate(t->a);
		return compute(t->op, (uint32_t)a, (uint32_t)evaluate(t->b));
	}
	case ASSIGN: variable[t->value] = evaluate(t->a); break;
	case BRANCH: evaluate(evaluate(t->a) ? t->b : t->c); break;
	case LOOP:
		for (int i = 0; i < t->value; i++)
			evaluate(t->a);
		break;
	case SEQUENCE: evaluate(t->a); evaluate(t->b); break;
	case RESULT: result = evaluate(t->a); break;
	case NOTHING: break;
	}
	return 0;
}

/* ---- the optimiser ---- */

static int folded;

static int same(const struct tree *a, const struct tree *b)
{
	if (a->kind != b->kind || a->op != b->op || a->value != b->value)
		return 0;
	return a->kind != BINARY || (same(a->a, b->a) && same(a->b, b->b));
}

static struct tree *constant(int32_t v)
{
	folded++;
	return node(CONST, 0, v, NULL, NULL, NULL);
}

static struct tree *fold_binary(struct tree *t)
{
	struct tree *a = t->a, *b = t->b;

	if (a->kind == CONST && b->kind == CONST)
		return constant(compute(t->op, (uint32_t)a->value, (uint32_t)b->value));
	if (a->kind == CONST && strchr("+*&|^", t->op)) { /* constants to the right */
		t->a = b;
		t->b = a;
		a = t->a;
		b = t->b;
	}
	if (b->kind == CONST && b->value == 0 && strchr("+-|^", t->op)) {
		folded++;
		return a;
	}
	if (b->kind == CONST && b->value == 0 && strchr("*&", t->op))
		return constant(0);
	if (b->kind == CONST && b->value == 1 && t->op == '*') {
		folded++;
		return a;
	}
	if (same(a, b)) {
		if (strchr("-^<", t->op))
			return constant(0);
		if (t->op == EQUAL)
			return constant(1);
		if (strchr("&|", t->op)) {
			folded++;
			return a;
		}
	}
	return t;
}

static struct tree *fold(struct tree *t)
{
	if (t->a)
		t->a = fold(t->a);
	if (t->b)
		t->b = fold(t->b);
	if (t->c)
		t->c = fold(t->c);
	switch (t->kind) {
	case BINARY: return fold_binary(t);
	case BRANCH:
		if (t->a->kind == CONST) {
			folded++;
			return t->a->value ? t->b : t->c;
		}
		return t;
	case ASSIGN:
		if (t->a->kind == LOAD && t->a->value == t->value) {
			folded++;
			return node(NOTHING, 0, 0, NULL, NULL, NULL);
		}
		return t;
	case SEQUENCE:
		if (t->a->kind == NOTHING)
			return t->b;
		return t;
	default: return t;
	}
}

/* ---- code ---- */

enum { I_CONST, I_LOAD, I_STORE, I_OP, I_JUMP, I_ZERO, I_COUNT, I_END };

struct instruction {
	uint8_t code, op, d, s;
	int32_t value;
};

static struct instruction code[1 << 14];
static int size, labels_at;
static long emitted, removed;

static int emit(int what, int op, int d, int s, int32_t v)
{
	struct instruction i = {(uint8_t)what, (uint8_t)op, (uint8_t)d, (uint8_t)s, v};

	if (size == 1 << 14)
		fail("too much code");
	if (size > labels_at && what == I_LOAD && code[size - 1].code == I_STORE &&
	    code[size - 1].value == v && code[size - 1].d == d) {
		removed++; /* the register still holds what was just stored */
		return size - 1;
	}
	code[size] = i;
	return size++;
}

static void label(void) { labels_at = size; }

static void generate(const struct tree *t, int r)
{
	int from, to;

	if (r > 200)
		fail("out of registers");
	switch (t->kind) {
	case CONST: emit(I_CONST, 0, r, 0, t->value); break;
	case LOAD: emit(I_LOAD, 0, r, 0, t->value); break;
	case BINARY:
		generate(t->a, r);
		generate(t->b, r + 1);
		emit(I_OP, t->op, r, r + 1, 0);
		break;
	case ASSIGN:
		generate(t->a, r);
		emit(I_STORE, 0, r, 0, t->value);
		break;
	case BRANCH:
		generate(t->a, r);
		from = emit(I_ZERO, 0, r, 0, 0);
		label();
		generate(t->b, r);
		to = emit(I_JUMP, 0, 0, 0, 0);
		code[from].value = size;
		label();
		generate(t->c, r);
		code[to].value = size;
		label();
		break;
	case LOOP:
		emit(I_CONST, 0, r, 0, t->value);
		from = size;
		label();
		generate(t->a, r + 1);
		emit(I_COUNT, 0, r, 0, from);
		label();
		break;
	case SEQUENCE:
		generate(t->a, r);
		generate(t->b, r);
		break;
	case RESULT:
		generate(t->a, 0);
		emit(I_END, 0, 0, 0, 0);
		break;
	case NOTHING: break;
	}
}

static int32_t execute(void)
{
	static int32_t reg[256], memory[1024];

	for (const struct instruction *i = code;; i++) {
		switch (i->code) {
		case I_CONST: reg[i->d] = i->value; break;
		case I_LOAD: reg[i->d] = memory[i->value]; break;
		case I_STORE: memory[i->value] = reg[i->d]; break;
		case I_OP: reg[i->d] = compute(i->op, (uint32_t)reg[i->d], (uint32_t)reg[i->s]); break;
		case I_JUMP: i = &code[i->value] - 1; break;
		case I_ZERO:
			if (reg[i->d] == 0)
				i = &code[i->value] - 1;
			break;
		case I_COUNT:
			if (--reg[i->d] > 0)
				i = &code[i->value] - 1;
			break;
		default: return reg[0];
		}
	}
}

/* translate compiles and checks one function. */
static int translate(uint32_t *sum)
{
	make_function();
	at = text;
	used = size = labels_at = symbol_count = slots = scope = 0;
	newest = NULL;
	memset(buckets, 0, sizeof buckets);
	next();
	struct tree *t = sequence(END);
	evaluate(t);
	generate(fold(t), 0);
	emitted += size;
	for (int i = 0; i < size; i++)
		*sum = (*sum ^ code[i].code ^ (uint32_t)code[i].d << 8 ^ (uint32_t)code[i].value) * 16777619u;
	return execute() == result;
}

int main(int argc, char **argv)
{
	long functions = 40, good = 0;
	uint32_t sum = 2166136261u;

	state = 1;
	for (int c; (c = getopt(argc, argv, "n:s:")) != -1;) {
		switch (c) {
		case 'n': functions = strtol(optarg, NULL, 10); break;
		case 's': state = (uint32_t)strtoul(optarg, NULL, 10); break;
		default: fail("usage: compiler [-n FUNCTIONS] [-s SEED]");
		}
	}
	if (functions < 1 || functions > 1000000)
		fail("-n: want 1 to 1000000");
	for (long i = 0; i < functions; i++)
		good += translate(&sum);
	printf("compiler: %ld functions, %d tokens, %d symbols, %d folded, %ld instructions, %ld removed, checksum %08x: %s\n",
		functions, tokens, declared, folded, emitted, removed, sum, good == functions ? "PASS" : "FAIL");
	return good != functions;
}
