/* Indices, minima, rotations and single bits, for which compilers have
 * instructions of Zba, Zbb and Zbs. */
#include <stdint.h>
#include <stdio.h>

static uint64_t v[500];
static uint32_t order[500];
static uint64_t seen[8];

int main(void)
{
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < 500; i++) {
		x ^= x << 13; x ^= x >> 7; x ^= x << 17;
		v[i] = (x << 9 | x >> 55) & ~(x >> 3);
		order[i] = i;
	}
	for (unsigned i = 1; i < 500; i++)
		for (unsigned j = i; j > 0 && v[order[j]] < v[order[j - 1]]; j--) {
			uint32_t t = order[j]; order[j] = order[j - 1]; order[j - 1] = t;
		}
	int ok = 1;
	for (unsigned i = 0; i < 500; i++) {
		ok &= i == 0 || v[order[i - 1]] <= v[order[i]];
		seen[order[i] / 64] |= 1ull << (order[i] & 63);
	}
	int n = 0;
	for (int i = 0; i < 8; i++)
		n += __builtin_popcountll(seen[i]);
	printf("sorted %d\n", ok && n == 500);
	return 0;
}
