/*
 * race_static_buffer: a function returns a static buffer, as strtok, asctime
 * and many home-made helpers do.
 *
 * Two threads that call it write and read the same bytes.
 */
#include <pthread.h>
#include <stdio.h>

static const char *decimal(int n)
{
	static char buffer[4];

	for (int i = 2; i >= 0; i--, n /= 10)
		buffer[i] = '0' + n % 10; /* race: buffer */
	return buffer;
}

static void *work(void *arg)
{
	int *n = arg;
	const char *text = decimal(*n);

	*n = text[2] - '0'; /* race: buffer */
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
