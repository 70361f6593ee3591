// Barnes-Hut: bodies in the plane attract each other. One thread builds the
// quadtree, all compute forces and move their bodies. Usage: barnes BODIES STEPS [THREADS]
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 16 };

struct body {
	double x, y, vx, vy, m;
};

struct cell {
	double x, y, m; // centre of mass
	double left, low, size;
	struct cell *child[4];
	struct body *body; // of a leaf
};

static int n, steps, threads;
static struct body *bodies;
static struct cell *cells, *root;
static int used, room;
static pthread_barrier_t barrier;

static struct cell *cell(double left, double low, double size) {
	if (used == room) {
		fprintf(stderr, "too many cells\n");
		exit(1);
	}
	struct cell *c = &cells[used++];
	*c = (struct cell){.left = left, .low = low, .size = size};
	return c;
}

static int quarter(struct cell *c, struct body *b) {
	return (b->x >= c->left + c->size / 2) + 2 * (b->y >= c->low + c->size / 2);
}

static void insert(struct cell *c, struct body *b, int depth);

static void below(struct cell *c, struct body *b, int depth) {
	int q = quarter(c, b);
	if (!c->child[q])
		c->child[q] = cell(c->left + (q & 1) * c->size / 2, c->low + (q >> 1) * c->size / 2, c->size / 2);
	insert(c->child[q], b, depth + 1);
}

static void insert(struct cell *c, struct body *b, int depth) {
	if (c->m == 0 || depth > 40) {
		c->body = b;
	} else {
		if (c->body) {
			struct body *old = c->body;
			c->body = NULL;
			below(c, old, depth);
		}
		below(c, b, depth);
	}
	c->x = (c->x * c->m + b->x * b->m) / (c->m + b->m);
	c->y = (c->y * c->m + b->y * b->m) / (c->m + b->m);
	c->m += b->m;
}

static void pull(struct cell *c, struct body *b, double *ax, double *ay) {
	double dx = c->x - b->x, dy = c->y - b->y, d2 = dx * dx + dy * dy + 1e-4;
	if (c->body || c->size * c->size < 0.25 * d2) {
		if (c->body != b) {
			double f = c->m / (d2 * sqrt(d2));
			*ax += f * dx;
			*ay += f * dy;
		}
		return;
	}
	for (int q = 0; q < 4; q++)
		if (c->child[q])
			pull(c->child[q], b, ax, ay);
}

static void *work(void *arg) {
	int me = (int)(intptr_t)arg, lo = n * me / threads, hi = n * (me + 1) / threads;
	for (int s = 0; s < steps; s++) {
		if (me == 0) {
			used = 0;
			root = cell(-4, -4, 8);
			for (int i = 0; i < n; i++)
				insert(root, &bodies[i], 0);
		}
		pthread_barrier_wait(&barrier);
		for (int i = lo; i < hi; i++) {
			struct body *b = &bodies[i];
			double ax = 0, ay = 0;
			pull(root, b, &ax, &ay);
			b->vx += 1e-4 * ax;
			b->vy += 1e-4 * ay;
		}
		pthread_barrier_wait(&barrier);
		for (int i = lo; i < hi; i++) {
			bodies[i].x += 1e-4 * bodies[i].vx;
			bodies[i].y += 1e-4 * bodies[i].vy;
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv) {
	n = argc > 1 ? atoi(argv[1]) : 200;
	steps = argc > 2 ? atoi(argv[2]) : 2;
	threads = argc > 3 ? atoi(argv[3]) : 4;
	room = 64 * n + 64;
	bodies = calloc(n, sizeof *bodies);
	cells = calloc(room, sizeof *cells);
	uint32_t x = 1;
	for (int i = 0; i < n; i++) {
		double *at[] = {&bodies[i].x, &bodies[i].y};
		for (int k = 0; k < 2; k++) {
			x = x * 1664525 + 1013904223;
			*at[k] = (double)x / 2147483648.0 - 1;
		}
		bodies[i].m = 1.0 / n;
	}
	pthread_barrier_init(&barrier, NULL, threads);
	pthread_t id[most];
	for (int t = 0; t < threads; t++)
		pthread_create(&id[t], NULL, work, (void *)(intptr_t)t);
	for (int t = 0; t < threads; t++)
		pthread_join(id[t], NULL);
	double px = 0;
	for (int i = 0; i < n; i++)
		px += bodies[i].m * bodies[i].vx;
	printf("momentum below 0.001: %s\n", fabs(px) < 1e-3 ? "yes" : "no");
	return 0;
}
