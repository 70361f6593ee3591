/*
 * fig2: figure 2 of the parallel-trace paper (PPoPP 2003), whose grammars and
 * synch counts it shows. The blocks that the threads execute are
 *
 *	thread 1:  1 2 3(lock x) 4(unlock x) 5 3(lock x) 4(unlock x) 6
 *	thread 2:  1(lock y) 2(unlock y) 3 4 3 4 3 1(lock y) 2(unlock y)
 *
 * and S_synch is <2,lock,y> <2,unlock,y>, then thread 1's four operations on
 * x, then <2,lock,y> <2,unlock,y>. The threads sleep to make that order the
 * likely one; it is the order of every run under a virtual clock. A block of
 * the figure is a function here. There is no race.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t x = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t y = PTHREAD_MUTEX_INITIALIZER;
int under_x, under_y, local1, local2;

static void sleep_ms(long ms)
{
	struct timespec t = {0, ms * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void t1_block1(void) { local1++; }
__attribute__((noinline)) static void t1_block2(void) { local1 *= 2; }
__attribute__((noinline)) static void t1_block3(void) { pthread_mutex_lock(&x); under_x++; }
__attribute__((noinline)) static void t1_block4(void) { pthread_mutex_unlock(&x); }
__attribute__((noinline)) static void t1_block5(void) { local1 += 3; }
__attribute__((noinline)) static void t1_block6(void) { local1--; }

__attribute__((noinline)) static void t2_block1(void) { pthread_mutex_lock(&y); under_y++; }
__attribute__((noinline)) static void t2_block2(void) { pthread_mutex_unlock(&y); }
__attribute__((noinline)) static void t2_block3(void) { local2++; }
__attribute__((noinline)) static void t2_block4(void) { local2 *= 2; }

static void *thread1(void *arg)
{
	sleep_ms(5);
	t1_block1();
	t1_block2();
	t1_block3();
	t1_block4();
	t1_block5();
	t1_block3();
	t1_block4();
	t1_block6();
	return arg;
}

static void *thread2(void *arg)
{
	t2_block1();
	t2_block2();
	t2_block3();
	t2_block4();
	t2_block3();
	t2_block4();
	t2_block3();
	sleep_ms(15);
	t2_block1();
	t2_block2();
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, thread1, NULL);
	pthread_create(&b, NULL, thread2, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("x %d, y %d, thread 1 %d, thread 2 %d\n", under_x, under_y, local1, local2);
	return 0;
}
