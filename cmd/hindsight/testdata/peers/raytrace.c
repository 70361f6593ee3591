// A ray tracer: spheres over a plane, one light, mirrors. Threads take tiles from
// queues of their own, then from those of others. Usage: raytrace SIDE SPHERES [THREADS]
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 16, tile = 8 };

struct sphere {
	double x, y, z, r, mirror;
};

struct queue {
	pthread_mutex_t mutex;
	int next, end;
};

static int side, n, threads;
static struct sphere *spheres;
static unsigned char *picture;
static struct queue queues[most];

static double hit(const struct sphere *s, const double *o, const double *d) {
	double x = o[0] - s->x, y = o[1] - s->y, z = o[2] - s->z;
	double b = x * d[0] + y * d[1] + z * d[2], c = x * x + y * y + z * z - s->r * s->r, q = b * b - c;
	if (q < 0)
		return -1;
	double t = -b - sqrt(q);
	return t > 1e-6 ? t : -1;
}

static int nearest(const double *o, const double *d, double *t) {
	int found = -1;
	*t = 1e30;
	for (int i = 0; i < n; i++) {
		double at = hit(&spheres[i], o, d);
		if (at > 0 && at < *t) {
			*t = at;
			found = i;
		}
	}
	return found;
}

static double shade(const double *o, const double *d, int depth) {
	double t;
	int i = nearest(o, d, &t);
	if (i < 0) {
		if (d[1] >= 0)
			return 0.5 + 0.5 * d[1];
		double s = -(o[1] + 1) / d[1];
		return ((int)floor(o[0] + s * d[0]) + (int)floor(o[2] + s * d[2])) & 1 ? 0.2 : 0.8;
	}
	struct sphere *s = &spheres[i];
	double p[3], normal[3], away[3], light[3] = {0.577, 0.577, -0.577}, dot = 0, lit = 0;
	for (int k = 0; k < 3; k++)
		p[k] = o[k] + t * d[k];
	normal[0] = (p[0] - s->x) / s->r;
	normal[1] = (p[1] - s->y) / s->r;
	normal[2] = (p[2] - s->z) / s->r;
	for (int k = 0; k < 3; k++) {
		dot += normal[k] * d[k];
		lit += normal[k] * light[k];
	}
	if (lit < 0 || nearest(p, light, &t) >= 0)
		lit = 0;
	if (depth == 0)
		return lit;
	for (int k = 0; k < 3; k++)
		away[k] = d[k] - 2 * dot * normal[k];
	return (1 - s->mirror) * lit + s->mirror * shade(p, away, depth - 1);
}

static int take(int me) {
	for (int k = 0; k < threads; k++) {
		struct queue *q = &queues[(me + k) % threads];
		pthread_mutex_lock(&q->mutex);
		int got = q->next < q->end ? q->next++ : -1;
		pthread_mutex_unlock(&q->mutex);
		if (got >= 0)
			return got;
	}
	return -1;
}

static void *work(void *arg) {
	int per = side / tile;
	for (int at; (at = take((int)(intptr_t)arg)) >= 0;)
		for (int y = at / per * tile; y < at / per * tile + tile; y++)
			for (int x = at % per * tile; x < at % per * tile + tile; x++) {
				double o[3] = {0, 0, -4}, d[3] = {2.0 * x / side - 1, 1 - 2.0 * y / side, 1.5};
				double len = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
				for (int k = 0; k < 3; k++)
					d[k] /= len;
				picture[y * side + x] = (unsigned char)(255 * fmin(1, shade(o, d, 3)));
			}
	return NULL;
}

int main(int argc, char **argv) {
	side = argc > 1 ? atoi(argv[1]) / tile * tile : 32;
	n = argc > 2 ? atoi(argv[2]) : 10;
	threads = argc > 3 ? atoi(argv[3]) : 4;
	spheres = calloc(n, sizeof *spheres);
	picture = malloc(side * side);
	uint32_t x = 7;
	for (int i = 0; i < n; i++) {
		double r[4];
		for (int k = 0; k < 4; k++) {
			x = x * 1664525 + 1013904223;
			r[k] = (double)x / 4294967296.0;
		}
		spheres[i] = (struct sphere){4 * r[0] - 2, 2 * r[1] - 1, 4 * r[2] - 1, 0.1 + 0.3 * r[3], 0.5};
	}
	int tiles = (side / tile) * (side / tile);
	pthread_t id[most];
	for (int t = 0; t < threads; t++) {
		pthread_mutex_init(&queues[t].mutex, NULL);
		queues[t].next = tiles * t / threads;
		queues[t].end = tiles * (t + 1) / threads;
	}
	for (int t = 0; t < threads; t++)
		pthread_create(&id[t], NULL, work, (void *)(intptr_t)t);
	for (int t = 0; t < threads; t++)
		pthread_join(id[t], NULL);
	unsigned sum = 0;
	for (int i = 0; i < side * side; i++)
		sum = sum * 31 + picture[i];
	printf("picture %08x\n", sum);
	return 0;
}
