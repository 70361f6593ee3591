/*
 * interpreter: a byte-code machine runs some programs.
 *
 *	interpreter [-n ROUNDS]
 *
 * The programs are assembled from text into byte code for a stack machine with
 * frames and an array memory: recursive Fibonacci numbers, a sieve, the longest
 * Collatz chain, and the queens of a chessboard by backtracking. Each runs once
 * a round, with an argument that changes from round to round. Checked: the
 * results against the same computed in C.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "interpreter: %s\n", what);
	exit(2);
}

enum {
	PUSH, LOCAL, SET, GET, PUT, ADD, SUB, MUL, MOD, HALF, LESS, SAME, NOT, JUMP, ZERO, CALL, LEAVE, DROP, STOP,
	OPERATIONS,
};

static const char *const mnemonics[OPERATIONS] = {
	"push", "local", "set", "get", "put", "add", "sub", "mul", "mod", "half", "less", "same", "not", "jump", "zero",
	"call", "leave", "drop", "stop",
};

/* Those that a 16-bit number follows. A call also says how many arguments and
 * how many locals, arguments among them, in two bytes. */
static int has_number(int op)
{
	return op == PUSH || op == LOCAL || op == SET || op == JUMP || op == ZERO || op == CALL;
}

/* ---- the assembler: one word is a mnemonic, a number, or name: ---- */

#define MAX_CODE 4096
#define MAX_LABELS 64

struct program {
	uint8_t code[MAX_CODE];
	int size;
};

struct label { char name[16]; int at; };

static int lookup(struct label *labels, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].at;
	return 0; /* on the first pass */
}

static int word(const char **text, char *w)
{
	int n = 0;

	while (**text == ' ' || **text == '\n')
		++*text;
	while (**text && **text != ' ' && **text != '\n' && n < 15)
		w[n++] = *(*text)++;
	w[n] = 0;
	return n;
}

static int number_or_label(struct label *labels, int count, const char *w)
{
	return *w >= '0' && *w <= '9' ? atoi(w) : lookup(labels, count, w);
}

static void assemble(const char *source, struct program *p)
{
	struct label labels[MAX_LABELS];
	int count = 0;

	for (int pass = 0; pass < 2; pass++) {
		const char *text = source;
		char w[16];

		p->size = 0;
		for (int n; (n = word(&text, w)) > 0;) {
			if (w[n - 1] == ':') {
				w[n - 1] = 0;
				if (pass == 0) {
					if (count == MAX_LABELS)
						fail("too many labels");
					strcpy(labels[count].name, w);
					labels[count++].at = p->size;
				}
				continue;
			}
			int op = 0;
			while (op < OPERATIONS && strcmp(mnemonics[op], w) != 0)
				op++;
			if (op == OPERATIONS || p->size > MAX_CODE - 8)
				fail("bad assembly");
			p->code[p->size++] = (uint8_t)op;
			if (!has_number(op))
				continue;
			word(&text, w);
			int v = number_or_label(labels, count, w);
			p->code[p->size++] = (uint8_t)v;
			p->code[p->size++] = (uint8_t)(v >> 8);
			for (int i = 0; op == CALL && i < 2; i++) {
				word(&text, w);
				p->code[p->size++] = (uint8_t)atoi(w);
			}
		}
	}
}

/* ---- the machine ---- */

#define STACK 4096
#define MEMORY 65536

struct machine {
	int64_t stack[STACK], memory[MEMORY];
	long executed;
};

static struct machine machine;

/* run gives what the program leaves on the stack. The argument is its first
 * local; it has eight. A frame holds the caller's, the return address, the
 * caller's frame. */
static int64_t run(struct machine *m, const struct program *p, int64_t argument)
{
	const uint8_t *pc = p->code;
	int64_t *frame = m->stack, *top = frame + 8;
	int64_t v;
	int n, arguments, locals;

	memset(frame, 0, 8 * sizeof *frame);
	frame[0] = argument;
	for (;;) {
		m->executed++;
		if (top > m->stack + STACK - 64)
			fail("stack overflow");
		switch (*pc++) {
		case PUSH: *top++ = pc[0] | pc[1] << 8; pc += 2; break;
		case LOCAL: *top++ = frame[pc[0]]; pc += 2; break;
		case SET: frame[pc[0]] = *--top; pc += 2; break;
		case GET: top[-1] = m->memory[top[-1] % MEMORY]; break;
		case PUT: top -= 2; m->memory[top[0] % MEMORY] = top[1]; break;
		case ADD: top--; top[-1] += top[0]; break;
		case SUB: top--; top[-1] -= top[0]; break;
		case MUL: top--; top[-1] *= top[0]; break;
		case MOD: top--; top[-1] %= top[0]; break;
		case HALF: top[-1] /= 2; break;
		case LESS: top--; top[-1] = top[-1] < top[0]; break;
		case SAME: top--; top[-1] = top[-1] == top[0]; break;
		case NOT: top[-1] = !top[-1]; break;
		case JUMP: pc = p->code + (pc[0] | pc[1] << 8); break;
		case ZERO:
			n = pc[0] | pc[1] << 8;
			pc += 2;
			if (*--top == 0)
				pc = p->code + n;
			break;
		case CALL:
			n = pc[0] | pc[1] << 8;
			arguments = pc[2];
			locals = pc[3];
			top -= arguments;
			memset(top + arguments, 0, (size_t)(locals - arguments) * sizeof *top);
			top[locals] = pc + 4 - p->code;
			top[locals + 1] = frame - m->stack;
			top[locals + 2] = locals;
			frame = top;
			top += locals + 3;
			pc = p->code + n;
			break;
		case LEAVE: /* the value on top is the result; above the locals stands the link */
			v = *--top;
			top -= 3;
			pc = p->code + top[0];
			n = (int)top[2];
			top -= n;
			frame = m->stack + top[n + 1];
			*top++ = v;
			break;
		case DROP: top--; break;
		case STOP: return top[-1];
		default: fail("bad operation");
		}
	}
}

/* ---- the programs ---- */

static const char fibonacci[] =
	"local 0 call fib 1 1 stop "
	"fib: local 0 push 2 less zero more local 0 leave "
	"more: local 0 push 1 sub call fib 1 1 local 0 push 2 sub call fib 1 1 add leave ";

/* The primes below the argument: 1 is the candidate, 2 the multiple, 3 counts. */
static const char sieve[] =
	"push 2 set 1 "
	"clear: local 1 local 0 less zero begin local 1 push 0 put local 1 push 1 add set 1 jump clear "
	"begin: push 2 set 1 "
	"each: local 1 local 0 less zero done "
	"  local 1 get not zero skip local 3 push 1 add set 3 local 1 local 1 add set 2 "
	"mark: local 2 local 0 less zero skip local 2 push 1 put local 2 local 1 add set 2 jump mark "
	"skip: local 1 push 1 add set 1 jump each "
	"done: local 3 stop ";

/* The start below the argument with the longest chain: 1 the start, 2 the
 * number, 3 its length, 4 the longest, 5 whose. */
static const char collatz[] =
	"push 1 set 1 "
	"each: local 1 local 0 less zero done local 1 set 2 push 0 set 3 "
	"step: local 2 push 1 same not zero end local 3 push 1 add set 3 "
	"  local 2 push 2 mod zero even local 2 push 3 mul push 1 add set 2 jump step "
	"even: local 2 half set 2 jump step "
	"end: local 4 local 3 less zero next local 3 set 4 local 1 set 5 "
	"next: local 1 push 1 add set 1 jump each "
	"done: local 5 stop ";

/* place(row, n): how many ways there are from this row on. memory[r] is the
 * column of row r. 2 the column, 3 the row before, 4 the distance, 5 the sum. */
static const char queens[] =
	"push 0 local 0 call place 2 6 stop "
	"place: local 0 local 1 same zero try push 1 leave "
	"try: local 2 local 1 less zero out push 0 set 3 "
	"check: local 3 local 0 less zero fine "
	"  local 3 get local 2 sub set 4 "
	"  local 4 zero bad local 4 local 0 local 3 sub same not zero bad "
	"  local 4 local 3 local 0 sub same not zero bad "
	"  local 3 push 1 add set 3 jump check "
	"fine: local 0 local 2 put local 0 push 1 add local 1 call place 2 6 local 5 add set 5 "
	"bad: local 2 push 1 add set 2 jump try "
	"out: local 5 leave ";

static int64_t fibonacci_c(int64_t n) { return n < 2 ? n : fibonacci_c(n - 1) + fibonacci_c(n - 2); }

static int64_t sieve_c(int64_t n)
{
	int64_t count = 0;

	for (int64_t i = 2; i < n; i++) {
		int prime = 1;
		for (int64_t d = 2; d * d <= i && prime; d++)
			prime = i % d != 0;
		count += prime;
	}
	return count;
}

static int64_t collatz_c(int64_t n)
{
	int64_t longest = 0, whose = 0;

	for (int64_t i = 1; i < n; i++) {
		int64_t steps = 0;
		for (int64_t x = i; x != 1; steps++)
			x = x % 2 ? 3 * x + 1 : x / 2;
		if (steps > longest) {
			longest = steps;
			whose = i;
		}
	}
	return whose;
}

static int64_t queens_c(int64_t n)
{
	static const int64_t ways[] = {1, 1, 0, 0, 2, 10, 4, 40};
	return ways[n];
}

static const struct {
	const char *name, *text;
	int64_t (*plain)(int64_t);
	int64_t base, range; /* arguments: base … base + range - 1 */
} programs[] = {
	{"fibonacci", fibonacci, fibonacci_c, 9, 4},
	{"sieve", sieve, sieve_c, 300, 200},
	{"collatz", collatz, collatz_c, 30, 40},
	{"queens", queens, queens_c, 4, 3},
};
#define PROGRAMS 4

int main(int argc, char **argv)
{
	static struct program assembled[PROGRAMS];
	int64_t sums[PROGRAMS] = {0};
	long rounds = 2;
	int ok = 1;

	for (int c; (c = getopt(argc, argv, "n:")) != -1;) {
		switch (c) {
		case 'n': rounds = strtol(optarg, NULL, 10); break;
		default: fail("usage: interpreter [-n ROUNDS]");
		}
	}
	if (rounds < 1 || rounds > 1000000)
		fail("-n: want 1 to 1000000");
	for (int i = 0; i < PROGRAMS; i++)
		assemble(programs[i].text, &assembled[i]);
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < PROGRAMS; i++) {
			int64_t argument = programs[i].base + r * 7 % programs[i].range;
			int64_t got = run(&machine, &assembled[i], argument);
			ok = ok && got == programs[i].plain(argument);
			sums[i] += got;
		}
	}
	printf("interpreter: %ld rounds, %ld operations", rounds, machine.executed);
	for (int i = 0; i < PROGRAMS; i++)
		printf(", %s %lld", programs[i].name, (long long)sums[i]);
	printf(": %s\n", ok ? "PASS" : "FAIL");
	return !ok;
}
