/* A spin lock of amocas.w (Zacas), written as .insn for assemblers that do not
 * know it, with pause (Zihintpause) in the loop and cbo.zero (Zicboz) on an array.
 * -DRELAXED: without .aq and .rl, which order nothing. -DUNLOCKED: both threads
 * clear the array. */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef RELAXED
#define BITS "0x14"
#else
#define BITS "0x17"
#endif

static int lock;
static long total;
static char bytes[256] __attribute__((aligned(64)));

static inline int cas(int *p, int want, int with)
{
	asm volatile(".insn r 0x2f, 2, " BITS ", %0, %1, %2" : "+r"(want) : "r"(p), "r"(with) : "memory");
	return want;
}

static void clear(void)
{
	asm volatile(".insn i 0x0f, 2, x0, %0, 4" :: "r"(bytes + 70) : "memory");
}

static void *worker(void *arg)
{
	for (int i = 0; i < 100; i++) {
		while (cas(&lock, 0, 1) != 0)
			asm volatile(".word 0x0100000f");
		total++;
		clear();
		cas(&lock, 1, 0);
	}
#ifdef UNLOCKED
	clear();
#endif
	return arg;
}

int main(void)
{
	pthread_t t[2];
	struct { int64_t key; uint64_t value; } probe[3] = { { 4, 0 }, { 6, 0 }, { 999, 5 } };
	long r = syscall(258, probe, 3, 0, 0, 0);
	memset(bytes, 1, sizeof bytes);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, worker, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	int sum = 0;
	for (int i = 0; i < 256; i++)
		sum += bytes[i];
	printf("total %ld, sum %d, hwprobe %ld: zba %d, v %d, zacas %d, block %d, unknown %d\n", total, sum, r,
	       (int)(probe[0].value >> 3 & 1), (int)(probe[0].value >> 2 & 1), (int)(probe[0].value >> 34 & 1),
	       (int)probe[1].value, (int)probe[2].key);
	return 0;
}
