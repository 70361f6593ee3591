#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define CAP 64
struct job {
	int id;
	double v[16];
	double out;
};
static struct job *q[CAP];
static int head, tail, count, done;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, rm = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nonempty = PTHREAD_COND_INITIALIZER, nonfull = PTHREAD_COND_INITIALIZER;
static double total;
static int n = 50000;
static void *producer(void *a)
{
	int id = (int)(long)a;
	for (int i = 0; i < n; i++) {
		struct job *j = malloc(sizeof *j);
		j->id = i;
		for (int k = 0; k < 16; k++)
			j->v[k] = i * k + id;
		pthread_mutex_lock(&m);
		while (count == CAP)
			pthread_cond_wait(&nonfull, &m);
		q[tail] = j;
		tail = (tail + 1) % CAP;
		count++;
		pthread_cond_signal(&nonempty);
		pthread_mutex_unlock(&m);
	}
	return 0;
}
static void *consumer(void *a)
{
	for (;;) {
		pthread_mutex_lock(&m);
		while (!count && !done)
			pthread_cond_wait(&nonempty, &m);
		if (!count) {
			pthread_mutex_unlock(&m);
			return 0;
		}
		struct job *j = q[head];
		head = (head + 1) % CAP;
		count--;
		pthread_cond_signal(&nonfull);
		pthread_mutex_unlock(&m);
		double s = 0;
		for (int r = 0; r < 8; r++)
			for (int k = 0; k < 16; k++)
				s += j->v[k] * (r + 1);
		j->out = s;
		pthread_mutex_lock(&rm);
		total += s;
		pthread_mutex_unlock(&rm);
		free(j);
	}
}
int main(int c, char **v)
{
	if (c > 1)
		n = atoi(v[1]);
	pthread_t p[2], w[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&w[i], 0, consumer, 0);
	for (long i = 0; i < 2; i++)
		pthread_create(&p[i], 0, producer, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(p[i], 0);
	pthread_mutex_lock(&m);
	done = 1;
	pthread_cond_broadcast(&nonempty);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 3; i++)
		pthread_join(w[i], 0);
	printf("%g\n", total);
}
