/*
 * water: molecular dynamics of n water molecules, all pairs, p threads.
 *
 *	water [-p THREADS] [-n MOLECULES] [-s STEPS] [-x]
 *
 * A molecule is one oxygen and two hydrogens held by springs; molecules act on
 * each other through charges and a Lennard-Jones force between the oxygens
 * (reduced units, open space). A step moves each thread's own molecules, then
 * computes the force of each of them with half of the others, which changes
 * other threads' molecules too: every molecule has a lock for its forces, the
 * energy has one more, and barriers separate the phases.
 *
 * Checked: total energy and momentum are conserved. -x leaves the check out,
 * for measurements.
 */
#include <math.h>

#include "kernel.h"

#define ATOMS 3

struct vector {
	double x, y, z;
};

struct molecule {
	pthread_mutex_t lock; /* of force */
	struct vector position[ATOMS], velocity[ATOMS], force[ATOMS];
};

static const double mass[ATOMS] = {16, 1, 1};
static const double charge[ATOMS] = {-0.8, 0.4, 0.4};
static const double rest[ATOMS] = {1.633, 1.0, 1.0}; /* of the spring opposite to the atom */
static const double stiffness = 200, dt = 0.002, spacing = 3.1;

static int molecules = 16, steps = 2;
static struct molecule *molecule;
static pthread_mutex_t energy_lock = PTHREAD_MUTEX_INITIALIZER;
static double potential;

static inline struct vector minus(struct vector a, struct vector b)
{
	struct vector d = {a.x - b.x, a.y - b.y, a.z - b.z};
	return d;
}

static inline double dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* add adds f times v to *a. */
static inline void add(struct vector *a, double f, struct vector v)
{
	a->x += f * v.x;
	a->y += f * v.y;
	a->z += f * v.z;
}

/* fill puts the molecules on a lattice, a little shaken, at rest as a whole. */
static void fill(void)
{
	int edge = (int)ceil(cbrt(molecules));
	unsigned x = 1;

	for (int n = 0; n < molecules; n++) {
		struct molecule *m = &molecule[n];
		struct vector o = {n % edge * spacing, n / edge % edge * spacing, n / edge / edge * spacing};
		pthread_mutex_init(&m->lock, NULL);
		for (int a = 0; a < ATOMS; a++)
			m->position[a] = o;
		m->position[1].x += 1;
		m->position[2].x -= 1.0 / 3;
		m->position[2].y += 0.943;
		x = x * 1103515245u + 12345u;
		double v = (x >> 16 & 0x7fff) / 32768.0 - 0.5;
		for (int a = 0; a < ATOMS; a++)
			m->velocity[a].z = n % 2 ? -molecule[n - 1].velocity[a].z : n + 1 < molecules ? v : 0;
	}
}

/* inside adds the springs of one molecule to force and gives their energy. */
static double inside(const struct molecule *m, struct vector *force)
{
	double energy = 0;

	for (int a = 0; a < ATOMS; a++) {
		int i = (a + 1) % ATOMS, j = (a + 2) % ATOMS;
		struct vector d = minus(m->position[i], m->position[j]);
		double r = sqrt(dot(d, d)), stretch = r - rest[a];
		energy += stiffness * stretch * stretch / 2;
		add(&force[i], -stiffness * stretch / r, d);
		add(&force[j], stiffness * stretch / r, d);
	}
	return energy;
}

/* between adds the forces of two molecules on each other; gives the energy. */
static double between(const struct molecule *m, const struct molecule *n, struct vector *on_m, struct vector *on_n)
{
	double energy = 0;

	for (int a = 0; a < ATOMS; a++) {
		for (int b = 0; b < ATOMS; b++) {
			struct vector d = minus(m->position[a], n->position[b]);
			double r2 = dot(d, d), r = sqrt(r2);
			double e = charge[a] * charge[b] / r, pull = e / r2;
			if (a == 0 && b == 0) {
				double s6 = 2.5 * 2.5 * 2.5 * 2.5 * 2.5 * 2.5 / (r2 * r2 * r2);
				e += 0.5 * (s6 * s6 - s6);
				pull += 0.5 * (12 * s6 * s6 - 6 * s6) / r2;
			}
			energy += e;
			add(&on_m[a], pull, d);
			add(&on_n[b], -pull, d);
		}
	}
	return energy;
}

static void add_forces(struct molecule *m, const struct vector *force)
{
	pthread_mutex_lock(&m->lock);
	for (int a = 0; a < ATOMS; a++)
		add(&m->force[a], 1, force[a]);
	pthread_mutex_unlock(&m->lock);
}

/* partners is how many of the molecules behind n, in a ring, it acts on. */
static int partners(int n)
{
	int half = (molecules - 1) / 2;
	return molecules % 2 == 0 && n < molecules / 2 ? half + 1 : half;
}

/* forces computes all forces, and leaves the potential energy in potential. */
static void forces(int from, int to)
{
	double energy = 0;

	for (int n = from; n < to; n++)
		memset(molecule[n].force, 0, sizeof molecule[n].force);
	if (from == 0 && to > 0)
		potential = 0;
	wait_all();
	for (int n = from; n < to; n++) {
		struct vector own[ATOMS] = {{0, 0, 0}};
		energy += inside(&molecule[n], own);
		for (int k = 1; k <= partners(n); k++) {
			struct molecule *other = &molecule[(n + k) % molecules];
			struct vector theirs[ATOMS] = {{0, 0, 0}};
			energy += between(&molecule[n], other, own, theirs);
			add_forces(other, theirs);
		}
		add_forces(&molecule[n], own);
	}
	pthread_mutex_lock(&energy_lock);
	potential += energy;
	pthread_mutex_unlock(&energy_lock);
	wait_all();
}

/* kick changes the velocities by half a step of the forces. */
static void kick(int from, int to)
{
	for (int n = from; n < to; n++)
		for (int a = 0; a < ATOMS; a++)
			add(&molecule[n].velocity[a], dt / 2 / mass[a], molecule[n].force[a]);
}

static double total_energy(void)
{
	double sum = potential;

	for (int n = 0; n < molecules; n++)
		for (int a = 0; a < ATOMS; a++)
			sum += mass[a] * dot(molecule[n].velocity[a], molecule[n].velocity[a]) / 2;
	return sum;
}

static double momentum(void)
{
	struct vector sum = {0, 0, 0};

	for (int n = 0; n < molecules; n++)
		for (int a = 0; a < ATOMS; a++)
			add(&sum, mass[a], molecule[n].velocity[a]);
	return sqrt(dot(sum, sum));
}

static void *prepare(void *arg)
{
	int from, to;

	part(*(int *)arg, molecules, &from, &to);
	forces(from, to);
	return NULL;
}

static void *simulate(void *arg)
{
	int from, to;

	part(*(int *)arg, molecules, &from, &to);
	for (int step = 0; step < steps; step++) {
		kick(from, to);
		for (int n = from; n < to; n++)
			for (int a = 0; a < ATOMS; a++)
				add(&molecule[n].position[a], dt, molecule[n].velocity[a]);
		wait_all();
		forces(from, to);
		kick(from, to);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int unchecked = 0;

	for (int c; (c = getopt(argc, argv, "p:n:s:x")) != -1;) {
		switch (c) {
		case 'p': threads = number(optarg, 1, MAX_THREADS); break;
		case 'n': molecules = number(optarg, 1, 4096); break;
		case 's': steps = number(optarg, 0, 100000); break;
		case 'x': unchecked = 1; break;
		default: fail("usage: water [-p THREADS] [-n MOLECULES] [-s STEPS] [-x]");
		}
	}
	molecule = allocate(molecules, sizeof *molecule);
	fill();
	run_team(prepare);
	double before = total_energy();
	run_team(simulate);
	double drift = fabs(total_energy() - before), scale = fabs(before) + molecules;
	int ok = unchecked || (drift < 1e-5 * scale && momentum() < 1e-9 * molecules);
	printf("water: %d molecules, %d steps: %s\n", molecules, steps, unchecked ? "done" : ok ? "PASS" : "FAIL");
	return !ok;
}
