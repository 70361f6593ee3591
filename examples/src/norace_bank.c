/*
 * norace_bank: bank.c with one lock for transfers and audits.
 *
 * A transfer holds it for writing, an audit for reading: audits may overlap
 * each other, never a transfer, so each of them finds the same sum.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define ACCOUNTS 8
#define TELLERS 3
#define TRANSFERS 200
#define AUDITS 50
#define DEPOSIT 1000

long balance[ACCOUNTS];
pthread_rwlock_t bank_lock = PTHREAD_RWLOCK_INITIALIZER;
unsigned receipts;
int strange_audits;

/* receipt is a check number for a transfer. */
static unsigned receipt(int from, int to, long amount)
{
	unsigned sum = 64 * from + 8 * to;

	for (long i = 0; i < 16 + amount; i++)
		sum = 31 * sum + (sum >> 7);
	return sum;
}

static void transfer(int from, int to, long amount)
{
	pthread_rwlock_wrlock(&bank_lock);
	balance[from] -= amount;
	receipts ^= receipt(from, to, amount);
	balance[to] += amount;
	pthread_rwlock_unlock(&bank_lock);
}

static long total(void)
{
	long sum = 0;

	pthread_rwlock_rdlock(&bank_lock);
	for (int i = 0; i < ACCOUNTS; i++)
		sum += balance[i];
	pthread_rwlock_unlock(&bank_lock);
	return sum;
}

static void *teller(void *arg)
{
	unsigned random = 17 * *(int *)arg + 1;

	for (int i = 0; i < TRANSFERS; i++) {
		random = random * 1103515245u + 12345u;
		transfer(random >> 16 & 7, random >> 20 & 7, random >> 24 & 63);
	}
	return NULL;
}

static void *auditor(void *arg)
{
	(void)arg;
	for (int i = 0; i < AUDITS; i++) {
		if (total() != ACCOUNTS * DEPOSIT)
			strange_audits++;
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	static int id[TELLERS];
	pthread_t thread[TELLERS + 1];

	for (int i = 0; i < ACCOUNTS; i++)
		balance[i] = DEPOSIT;
	pthread_create(&thread[TELLERS], NULL, auditor, NULL);
	for (int i = 0; i < TELLERS; i++) {
		id[i] = i;
		pthread_create(&thread[i], NULL, teller, &id[i]);
	}
	for (int i = 0; i <= TELLERS; i++)
		pthread_join(thread[i], NULL);
	printf("bank: %ld in %d accounts; %d of %d audits found another sum\n",
	       total(), ACCOUNTS, strange_audits, AUDITS);
	return 0;
}
