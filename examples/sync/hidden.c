/* What synchronises inside the C library, and whose objects and memory they are. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <regex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static int bad; /* set before threads start */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void enter(void) { if (!bad) pthread_mutex_lock(&lock); }
static void leave(void) { if (!bad) pthread_mutex_unlock(&lock); }
static void nap(void) { usleep(3000); }

#define BODY(name) static void *name(void *arg)

static void both(void *(*f)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, f, (void *)0);
	pthread_create(&b, NULL, f, (void *)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

/*
 * HIDES is the body of two threads that write a variable, one before it makes a
 * call and the other, later, after it. The call orders nothing.
 */
#define HIDES(name, call)                               \
	static volatile int name##_x;                   \
	BODY(name##_body)                               \
	{                                               \
		if (arg)                                \
			nap();                          \
		else {                                  \
			enter();                        \
			name##_x = 1;                   \
			leave();                        \
		}                                       \
		call;                                   \
		if (arg) {                              \
			enter();                        \
			name##_x = 2;                   \
			leave();                        \
		}                                       \
		return NULL;                            \
	}
#define RUN(name) { bad = broken; both(name##_body); puts("done"); }

static void nothing(void *p) { (void)p; }
static void never(void) { }
BODY(idle) { return arg; }
static void child(void)
{
	pthread_t t;

	pthread_create(&t, NULL, idle, NULL);
	pthread_join(t, NULL);
}
static void compile(void)
{
	regex_t r;

	regcomp(&r, "a*b", 0);
	regexec(&r, "aab", 0, NULL, 0);
	regfree(&r);
}

HIDES(hidden_stdio, printf("%s", ""))
PAIR(hidden_stdio, "printf orders nothing") RUN(hidden_stdio)

HIDES(hidden_error, strerror(12345))
PAIR(hidden_error, "strerror orders nothing") RUN(hidden_error)

HIDES(hidden_heap, free(malloc(10)))
PAIR(hidden_heap, "malloc and free orders nothing") RUN(hidden_heap)

HIDES(hidden_random, rand())
PAIR(hidden_random, "rand orders nothing") RUN(hidden_random)

HIDES(hidden_clock, { time_t t = 0; struct tm m; char b[64]; localtime_r(&t, &m); strftime(b, sizeof b, "%c", &m); })
PAIR(hidden_clock, "localtime_r, strftime orders nothing") RUN(hidden_clock)

HIDES(hidden_environment, getenv("HOME"))
PAIR(hidden_environment, "getenv orders nothing") RUN(hidden_environment)

HIDES(hidden_setenv, setenv("NAME", "value", 1))
PAIR(hidden_setenv, "setenv orders nothing, and guards itself") RUN(hidden_setenv)

HIDES(hidden_files, fclose(fopen("/dev/null", "r")))
PAIR(hidden_files, "fopen and fclose orders nothing") RUN(hidden_files)

HIDES(hidden_exit, atexit(never))
PAIR(hidden_exit, "atexit orders nothing") RUN(hidden_exit)

HIDES(hidden_child, child())
PAIR(hidden_child, "creating and joining another thread orders nothing") RUN(hidden_child)

HIDES(hidden_cleanup, { pthread_cleanup_push(nothing, NULL); pthread_cleanup_pop(1); })
PAIR(hidden_cleanup, "cleanup handlers orders nothing") RUN(hidden_cleanup)

HIDES(hidden_key, { pthread_key_t k; pthread_key_create(&k, NULL); })
PAIR(hidden_key, "pthread_key_create orders nothing") RUN(hidden_key)

HIDES(hidden_log, syslog(LOG_INFO, "text"))
PAIR(hidden_log, "syslog orders nothing") RUN(hidden_log)

HIDES(hidden_locale, setlocale(LC_ALL, NULL))
PAIR(hidden_locale, "setlocale orders nothing") RUN(hidden_locale)

HIDES(hidden_regex, compile())
PAIR(hidden_regex, "regcomp, regexec orders nothing") RUN(hidden_regex)

static volatile int stream_lock_x;
BODY(stream_lock_body)
{
	if (!bad)
		flockfile(stdout);
	stream_lock_x++;
	if (!bad)
		funlockfile(stdout);
	return arg;
}
PAIR(stream_lock, "flockfile, funlockfile") RUN(stream_lock)

static FILE *unlocked;
BODY(unlocked_body)
{
	enter();
	putc_unlocked('a', unlocked);
	leave();
	return arg;
}
PAIR(unlocked, "putc_unlocked on one stream")
{
	bad = broken;
	unlocked = fopen("/dev/null", "w");
	both(unlocked_body);
	fclose(unlocked);
	puts("done");
}

static volatile int request_x;
BODY(request_body)
{
	static char texts[2][8] = { "abcdefg", "hijklmn" };
	char *text = texts[arg != NULL];
	FILE *f = tmpfile();
	struct aiocb r = { .aio_fildes = fileno(f), .aio_buf = text, .aio_nbytes = sizeof texts[0] };
	const struct aiocb *list[] = { &r };

	aio_write(&r);
	while (aio_suspend(list, 1, NULL) || aio_error(&r) == EINPROGRESS)
		;
	text[1] = 'z';
	enter();
	request_x += aio_return(&r);
	leave();
	fclose(f);
	return arg;
}
PAIR(request, "aio_write, aio_suspend, and the buffer") RUN(request)

/* A named semaphore is the file's, wherever each thread has it in memory. */
static volatile int named_x;
BODY(named_body)
{
	sem_t *s = sem_open("/hindsight", O_CREAT, 0600, 0);

	if (arg) {
		sem_wait(s);
		named_x = 2;
	} else if (bad) {
		sem_post(s);
		named_x = 1;
	} else {
		named_x = 1;
		sem_post(s);
	}
	sem_close(s);
	return NULL;
}
PAIR(named, "sem_open by each thread, sem_close")
{
	RUN(named);
	sem_unlink("/hindsight");
}

static char stream_buffer_x[512];
static FILE *stream;
BODY(stream_buffer_body)
{
	for (int i = 0; i < 50; i++)
		if (bad && arg)
			stream_buffer_x[i] = 'a';
		else
			fprintf(stream, "line %d\n", i);
	return NULL;
}
PAIR(stream_buffer, "one stream with a buffer from setvbuf")
{
	bad = broken;
	stream = fopen("/dev/null", "w");
	setvbuf(stream, stream_buffer_x, _IOFBF, sizeof stream_buffer_x);
	both(stream_buffer_body);
	fclose(stream);
	puts("done");
}

static char *duplicate_x;
BODY(duplicate_body)
{
	enter();
	if (arg)
		strcpy(duplicate_x, "other");
	else if (strlen(duplicate_x) == 99)
		puts("long");
	leave();
	return NULL;
}
PAIR(duplicate, "strdup, and the copy in library functions")
{
	duplicate_x = strdup("a text");
	bad = broken;
	both(duplicate_body);
	puts("done");
	free(duplicate_x);
}
PAIR(formatted, "asprintf, and the text in library functions")
{
	if (asprintf(&duplicate_x, "a text %d", 1) < 0)
		abort();
	bad = broken;
	both(duplicate_body);
	puts("done");
	free(duplicate_x);
}
PAIR(memory_stream, "open_memstream, and what was written")
{
	size_t n;
	FILE *f = open_memstream(&duplicate_x, &n);

	fprintf(f, "a text %d", 1);
	fclose(f);
	bad = broken;
	both(duplicate_body);
	puts("done");
	free(duplicate_x);
}
PAIR(remapped, "mremap, and the memory in library functions")
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	duplicate_x = (char *)mremap(p, 4096, 8192, MREMAP_MAYMOVE) + 5000;
	bad = broken;
	both(duplicate_body);
	puts("done");
}
PAIR(main_stack, "a variable of main's in library functions")
{
	char text[20] = "a text";

	duplicate_x = text;
	bad = broken;
	both(duplicate_body);
	puts("done");
}

/* What a block has beside what was asked for belongs to it once it was asked. */
static char *usable_x;
static atomic_int usable_freed;
BODY(usable_body)
{
	usable_x[malloc_usable_size(usable_x) - 1] = 1;
	if (!bad)
		free(usable_x);
	atomic_store_explicit(&usable_freed, 1, memory_order_relaxed);
	return arg;
}
PAIR(usable, "malloc_usable_size, and memory that was freed by another thread")
{
	pthread_t t;
	char *other;

	bad = broken;
	usable_x = malloc(2000);
	free(malloc(100));
	pthread_create(&t, NULL, usable_body, NULL);
	while (!atomic_load_explicit(&usable_freed, memory_order_relaxed))
		usleep(100);
	other = bad ? usable_x : malloc(1995);
	other[malloc_usable_size(other) - 1] = 2;
	pthread_join(t, NULL);
	printf("%d\n", other[malloc_usable_size(other) - 1]);
}

/* Objects that end with their memory. */
static volatile int heap_mutex_x;
BODY(heap_mutex_body)
{
	pthread_mutex_t *m = &lock;

	if (arg)
		nap();
	else
		heap_mutex_x = 1;
	if (bad)
		m = calloc(1, sizeof *m);
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	if (bad)
		free(m);
	if (arg)
		heap_mutex_x = 2;
	return NULL;
}
PAIR(heap_mutex, "a mutex in memory that was allocated again") RUN(heap_mutex)

static sem_t always;
static volatile int frame_semaphore_x;
static __attribute__((noinline)) void post(void)
{
	sem_t own, *posted = bad ? &own : &always;

	if (bad)
		sem_init(&own, 0, 0);
	sem_post(posted);
	sem_wait(posted);
	if (!bad)
		sem_post(posted);
}
BODY(frame_semaphore_body)
{
	if (!arg)
		frame_semaphore_x = 1;
	else
		nap();
	post();
	if (arg)
		frame_semaphore_x = 2;
	return NULL;
}
PAIR(frame_semaphore, "a semaphore in the frame of a function")
{
	bad = broken;
	sem_init(&always, 0, 0);
	both(frame_semaphore_body);
	puts("done");
}

/* Functions of the program's own, called as the library's. */
static volatile int owned_name_x;
static int mtx_lock(int *m) { return *m; }
static int thrd_join(int *m) { return mtx_lock(m); }
static int cnd_signal(const char *text) { return text[0]; }
BODY(owned_name_body)
{
	static int m;

	enter();
	owned_name_x += mtx_lock(&m) + thrd_join(&m) + cnd_signal("");
	leave();
	return arg;
}
PAIR(owned_name, "functions of the program's own called mtx_lock, thrd_join, cnd_signal") RUN(owned_name)

/* State and results of the library's that it leaves to the callers to guard. */
BODY(strtok_body)
{
	char text[] = "a b c d e f";

	enter();
	for (char *p = strtok(text, " "); p; p = strtok(NULL, " "))
		;
	leave();
	return arg;
}
PAIR(strtok, "strtok") RUN(strtok)

BODY(localtime_body)
{
	time_t t = 1000;
	int hour;

	enter();
	hour = localtime(&t)->tm_min;
	leave();
	return (void *)(long)hour;
}
PAIR(localtime, "localtime, whose result all callers share") RUN(localtime)

BODY(drand48_body)
{
	enter();
	if (drand48() > 2)
		puts("two");
	leave();
	return arg;
}
PAIR(drand48, "drand48") RUN(drand48)
