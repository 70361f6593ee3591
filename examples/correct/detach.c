/* OpenMP tasks that end when another thread says so, and tasks that depend on
 * them: requests that a thread of its own answers. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { REQUESTS = 6 };

static struct request {
	int number, answer;
	omp_event_handle_t done;
	struct request *next;
} request[REQUESTS];

static struct request *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;

static void *server(void *arg)
{
	for (int n = 0; n < REQUESTS; n++) {
		pthread_mutex_lock(&lock);
		while (!queue)
			pthread_cond_wait(&some, &lock);
		struct request *r = queue;
		queue = r->next;
		pthread_mutex_unlock(&lock);
		r->answer = r->number * r->number;
		omp_fulfill_event(r->done);
	}
	return arg;
}

static void ask(struct request *r, omp_event_handle_t done)
{
	pthread_mutex_lock(&lock);
	r->done = done;
	r->next = queue;
	queue = r;
	pthread_cond_signal(&some);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t thread;
	int sum = 0;

	pthread_create(&thread, NULL, server, NULL);
#pragma omp parallel num_threads(3)
#pragma omp single
	for (int i = 0; i < REQUESTS; i++) {
		omp_event_handle_t done;
		struct request *r = &request[i];
		r->number = i;
#pragma omp task detach(done) depend(out : r->answer) firstprivate(r)
		ask(r, done);
#pragma omp task depend(in : r->answer) firstprivate(r)
		{
#pragma omp atomic
			sum += r->answer;
		}
	}
	pthread_join(thread, NULL);
	printf("sum %d\n", sum);
	return 0;
}
