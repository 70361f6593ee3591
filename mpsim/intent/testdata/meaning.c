#include <stdatomic.h>
#include <string.h>

atomic_int word;
atomic_bool flag;
int plain;
char letter;
int sum, count;
double mean;
static long most;

int accesses(int n)
{
	atomic_store_explicit(&flag, 1, memory_order_relaxed); /* is atomic */
	int v = atomic_load_explicit(&word, memory_order_relaxed); /* is atomic */
	plain = n; /* is plain */
	letter = n; /* is open */
	return v;
}

int fences(void)
{
	int v = atomic_load_explicit(&word, memory_order_acquire); /* has its own fence */
	if (v == 7)
		return plain; /* has no fence */
	int w = atomic_load_explicit(&word, memory_order_relaxed); /* has a fence apart */
	atomic_thread_fence(memory_order_acquire);
	return v + w;
}

void reduces(int n)
{
#pragma omp parallel for reduction(+:sum)
	for (int i = 0; i < n; i++)
		sum += i;
#pragma omp parallel for reduction(+:mean)
	for (int i = 0; i < n; i++)
		mean += i;
#pragma omp parallel for reduction(max:most)
	for (int i = 0; i < n; i++)
		most = i > most ? i : most;
#pragma omp parallel
	{
#pragma omp atomic
		count++;
	}
}

int main(int argc, char **argv)
{
	reduces(argc);
	return accesses(argc) + fences();
}
