/* A thread pool: a queue of jobs, workers, a way to wait for all of them, shutdown. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	void (*run)(void *);
	void *arg;
	struct job *next;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct job *first, **last;
	int waiting, running, stopping, workers;
	pthread_t thread[8];
};

static void *worker(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->first && !p->stopping)
			pthread_cond_wait(&p->work, &p->lock);
		if (!p->first)
			break;
		struct job *j = p->first;
		p->first = j->next;
		if (!p->first)
			p->last = &p->first;
		p->waiting--;
		p->running++;
		pthread_mutex_unlock(&p->lock);
		j->run(j->arg);
		free(j);
		pthread_mutex_lock(&p->lock);
		p->running--;
		if (!p->running && !p->first)
			pthread_cond_broadcast(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static struct pool *pool_new(int workers)
{
	struct pool *p = calloc(1, sizeof *p);

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->idle, NULL);
	p->last = &p->first;
	p->workers = workers;
	for (int i = 0; i < workers; i++)
		pthread_create(&p->thread[i], NULL, worker, p);
	return p;
}

static void pool_add(struct pool *p, void (*run)(void *), void *arg)
{
	struct job *j = malloc(sizeof *j);

	*j = (struct job){run, arg, NULL};
	pthread_mutex_lock(&p->lock);
	*p->last = j;
	p->last = &j->next;
	p->waiting++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

static void pool_wait(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->first || p->running)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void pool_free(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = 1;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->workers; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct part {
	const int *from;
	int n;
	long sum;
};

static void add_up(void *arg)
{
	struct part *p = arg;

	for (int i = 0; i < p->n; i++)
		p->sum += p->from[i];
}

int main(void)
{
	enum { PARTS = 12, EACH = 20 };
	static int numbers[PARTS * EACH];
	struct part part[PARTS];
	struct pool *p = pool_new(3);
	long sum = 0;

	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < PARTS * EACH; i++)
			numbers[i] = i * round;
		for (int i = 0; i < PARTS; i++) {
			part[i] = (struct part){numbers + i * EACH, EACH, 0};
			pool_add(p, add_up, &part[i]);
		}
		pool_wait(p);
		for (int i = 0; i < PARTS; i++)
			sum += part[i].sum;
	}
	pool_free(p);
	printf("sum %ld\n", sum);
	return 0;
}
