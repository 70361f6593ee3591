/* A pipeline: stages that hand pointers to buffers on through pipes; the end of
 * each pipe is told by closing it. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct line {
	int number, words;
	char text[48];
};

struct stage {
	int in, out;
	void (*work)(struct line *);
	pthread_t thread;
};

static void upper(struct line *l)
{
	for (char *c = l->text; *c; c++)
		*c = toupper((unsigned char)*c);
}

static void count(struct line *l)
{
	l->words = 0;
	for (char *c = l->text; *c; c++)
		if (*c != ' ' && (c == l->text || c[-1] == ' '))
			l->words++;
}

static void *stage(void *arg)
{
	struct stage *s = arg;
	struct line *l;

	while (read(s->in, &l, sizeof l) == sizeof l) {
		s->work(l);
		if (write(s->out, &l, sizeof l) != sizeof l)
			abort();
	}
	close(s->in);
	close(s->out);
	return NULL;
}

int main(void)
{
	static const char *const texts[] = {"a quick brown fox", "jumps over", "the lazy dog", "and goes home"};
	struct stage stages[2] = {{.work = upper}, {.work = count}};
	int fds[3][2], words = 0, letters = 0;

	for (int i = 0; i < 3; i++)
		if (pipe(fds[i]))
			return 1;
	for (int i = 0; i < 2; i++) {
		stages[i].in = fds[i][0];
		stages[i].out = fds[i + 1][1];
		pthread_create(&stages[i].thread, NULL, stage, &stages[i]);
	}
	for (int i = 0; i < 12; i++) {
		struct line *l = malloc(sizeof *l);
		l->number = i;
		strcpy(l->text, texts[i % 4]);
		if (write(fds[0][1], &l, sizeof l) != sizeof l)
			abort();
	}
	close(fds[0][1]);
	struct line *l;
	while (read(fds[2][0], &l, sizeof l) == sizeof l) {
		words += l->words;
		letters += isupper((unsigned char)l->text[0]) != 0;
		free(l);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(stages[i].thread, NULL);
	printf("%d words in %d lines\n", words, letters);
	return 0;
}
