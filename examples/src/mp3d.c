/*
 * mp3d: particles flow through a wind tunnel past an obstacle, p threads.
 *
 *	mp3d [-p THREADS] [-m PARTICLES] [-s STEPS] [-x]
 *
 * Each thread owns a share of the particles and moves them; where they are in
 * the tunnel has nothing to do with who owns them, so the accesses to the
 * array of cells are as good as random. In the second half of a step every
 * particle enters its cell, under the cell's lock, and collides with the one
 * that waits there, if any. Barriers separate the halves.
 *
 * Built with -DNO_LOCKS (mp3d_nolock) cells are entered without their locks,
 * as the program that this one is modelled on did for speed: the marked lines
 * race then, and particles or collisions may be lost.
 *
 * Checked: the cells together counted every particle once a step, and energy
 * is conserved (walls and obstacle reflect, the tunnel's ends are joined,
 * collisions are elastic). -x leaves the check out, for measurements.
 */
#include <math.h>

#include "kernel.h"

#define LENGTH 24 /* cells along the flow */
#define HEIGHT 8
#define DEPTH 8
#define CELLS (LENGTH * HEIGHT * DEPTH)

struct particle {
	double x, y, z;    /* in cells */
	double vx, vy, vz; /* cells a step */
	int cell;
};

struct cell {
	pthread_mutex_t lock;
	struct particle *waiting; /* for a partner to collide with */
	int visits;
	int collisions;
};

static int particles = 500, steps = 3;
static struct particle *particle;
static struct cell *cells;

#ifdef NO_LOCKS
static inline void lock(struct cell *c) { (void)c; }
static inline void unlock(struct cell *c) { (void)c; }
#else
static inline void lock(struct cell *c) { pthread_mutex_lock(&c->lock); }
static inline void unlock(struct cell *c) { pthread_mutex_unlock(&c->lock); }
#endif

/* random_unit is a number in [0, 1) that depends on nothing but n. */
static double random_unit(unsigned long n)
{
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ul;
	n = (n ^ n >> 27) * 0x94d049bb133111ebul;
	return (double)((n ^ n >> 31) >> 11) / 9007199254740992.0;
}

static void fill(void)
{
	for (int i = 0; i < particles; i++) {
		struct particle *p = &particle[i];
		unsigned long n = 8ul * i + 1;
		p->x = random_unit(n) * LENGTH / 3;
		p->y = random_unit(n + 1) * HEIGHT;
		p->z = random_unit(n + 2) * DEPTH;
		p->vx = 0.5 + 0.2 * random_unit(n + 3);
		p->vy = 0.2 * random_unit(n + 4) - 0.1;
		p->vz = 0.2 * random_unit(n + 5) - 0.1;
	}
	for (int i = 0; i < CELLS; i++)
		pthread_mutex_init(&cells[i].lock, NULL);
}

/* bounce keeps one coordinate between two walls. */
static void bounce(double *x, double *v, double limit)
{
	if (*x < 0) {
		*x = -*x;
		*v = -*v;
	} else if (*x >= limit) {
		*x = fmax(0, 2 * limit - *x - 1e-9);
		*v = -*v;
	}
}

/* in_obstacle: a block stands on the floor in the middle of the tunnel. */
static int in_obstacle(const struct particle *p)
{
	return p->x >= LENGTH / 2 && p->x < LENGTH / 2 + 2 && p->y < HEIGHT / 3;
}

static void move(struct particle *p)
{
	p->x += p->vx;
	p->y += p->vy;
	p->z += p->vz;
	if (in_obstacle(p)) {
		p->x -= p->vx;
		p->vx = -p->vx;
	}
	if (p->x >= LENGTH)
		p->x -= LENGTH;
	else if (p->x < 0)
		p->x = fmin(p->x + LENGTH, LENGTH - 1e-9);
	bounce(&p->y, &p->vy, HEIGHT);
	bounce(&p->z, &p->vz, DEPTH);
	p->cell = ((int)p->x * HEIGHT + (int)p->y) * DEPTH + (int)p->z;
}

/*
 * collide turns the difference of two velocities into a direction that
 * depends on the particles; the sum of the velocities and the energy stay.
 */
static void collide(struct particle *a, struct particle *b, int step)
{
	double dx = (a->vx - b->vx) / 2; /* may race: heap particle */
	double dy = (a->vy - b->vy) / 2; /* may race: heap particle */
	double dz = (a->vz - b->vz) / 2; /* may race: heap particle */
	double mx = (a->vx + b->vx) / 2; /* may race: heap particle */
	double my = (a->vy + b->vy) / 2; /* may race: heap particle */
	double mz = (a->vz + b->vz) / 2; /* may race: heap particle */
	double speed = sqrt(dx * dx + dy * dy + dz * dz);
	unsigned long n = (unsigned long)(a - particle) * 2654435761ul + step;
	double cosine = 2 * random_unit(n) - 1;
	double sine = sqrt(1 - cosine * cosine);
	double angle = 2 * M_PI * random_unit(n + 77);

	dx = speed * cosine;
	dy = speed * sine * cos(angle);
	dz = speed * sine * sin(angle);
	a->vx = mx + dx; /* may race: heap particle */
	a->vy = my + dy; /* may race: heap particle */
	a->vz = mz + dz; /* may race: heap particle */
	b->vx = mx - dx; /* may race: heap particle */
	b->vy = my - dy; /* may race: heap particle */
	b->vz = mz - dz; /* may race: heap particle */
}

static void enter(struct particle *p, int step)
{
	struct cell *c = &cells[p->cell];

	lock(c);
	c->visits++; /* race: heap cells */
	struct particle *partner = c->waiting; /* race: heap cells */
	if (partner) {
		c->waiting = NULL; /* race: heap cells */
		c->collisions++; /* may race: heap cells */
		collide(p, partner, step);
	} else {
		c->waiting = p; /* race: heap cells */
	}
	unlock(c);
}

static void *flow(void *arg)
{
	int self = *(int *)arg, from, to, first_cell, last_cell;

	part(self, particles, &from, &to);
	part(self, CELLS, &first_cell, &last_cell);
	for (int step = 0; step < steps; step++) {
		for (int i = from; i < to; i++)
			move(&particle[i]);
		for (int i = first_cell; i < last_cell; i++)
			cells[i].waiting = NULL;
		wait_all();
		for (int i = from; i < to; i++)
			enter(&particle[i], step);
		wait_all();
	}
	return NULL;
}

static double energy(void)
{
	double sum = 0;

	for (int i = 0; i < particles; i++) {
		struct particle *p = &particle[i];
		sum += p->vx * p->vx + p->vy * p->vy + p->vz * p->vz;
	}
	return sum / 2;
}

static int check(double before)
{
	long visits = 0;

	for (int i = 0; i < CELLS; i++)
		visits += cells[i].visits;
	return visits == (long)particles * steps && fabs(energy() - before) < 1e-9 * before;
}

int main(int argc, char **argv)
{
	int unchecked = 0;

	for (int c; (c = getopt(argc, argv, "p:m:s:x")) != -1;) {
		switch (c) {
		case 'p': threads = number(optarg, 1, MAX_THREADS); break;
		case 'm': particles = number(optarg, 1, 10000000); break;
		case 's': steps = number(optarg, 0, 100000); break;
		case 'x': unchecked = 1; break;
		default: fail("usage: mp3d [-p THREADS] [-m PARTICLES] [-s STEPS] [-x]");
		}
	}
	particle = allocate(particles, sizeof *particle);
	cells = allocate(CELLS, sizeof *cells);
	fill();
	double before = energy();
	run_team(flow);
	int ok = unchecked || check(before);
	printf("mp3d: %d particles, %d steps: %s\n", particles, steps, unchecked ? "done" : ok ? "PASS" : "FAIL");
	return !ok;
}
