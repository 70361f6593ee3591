/*
 * norace_static_buffer: the caller brings the buffer, as strtok_r and
 * asctime_r want it.
 */
#include <pthread.h>
#include <stdio.h>

static const char *decimal(int n, char buffer[4])
{
	for (int i = 2; i >= 0; i--, n /= 10)
		buffer[i] = '0' + n % 10;
	return buffer;
}

static void *work(void *arg)
{
	int *n = arg;
	char buffer[4];
	const char *text = decimal(*n, buffer);

	*n = text[2] - '0';
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int x = 123, y = 456;

	pthread_create(&a, NULL, work, &x);
	pthread_create(&b, NULL, work, &y);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("digits %d %d, want 3 6\n", x, y);
	return 0;
}
