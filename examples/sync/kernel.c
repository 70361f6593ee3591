/* Objects of the kernel, and the memory that calls touch. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

static int bad; /* set before threads start */

#define BODY(name) static void *name(void *arg)

/* pass runs f in a thread and g in this one. */
static void pass(void *(*f)(void *), void (*g)(void))
{
	pthread_t t;

	pthread_create(&t, NULL, f, NULL);
	g();
	pthread_join(t, NULL);
}

static int ends[2];

/* tell wakes who reads the pipe; if it is bad, too early for x. */
#define TELL(x, wake)           \
	do {                    \
		if (!bad)       \
			x = 1;  \
		wake;           \
		if (bad)        \
			x = 1;  \
	} while (0)

static int pipe_x;
BODY(pipe_body) { char c; (void)!read(ends[0], &c, 1); pipe_x++; return arg; }
static void pipe_tell(void) { TELL(pipe_x, (void)!write(ends[1], "x", 1)); }
PAIR(pipe, "write to a pipe, then read")
{
	bad = broken;
	(void)!pipe(ends);
	pass(pipe_body, pipe_tell);
	printf("read\n");
}

static int later_x;
BODY(later_body) { char c; (void)!read(ends[0], &c, 1); later_x++; return arg; }
static void later_tell(void) /* another message orders nobody who did not read it */
{
	if (!bad)
		later_x = 1;
	(void)!write(ends[1], "x", 1);
	if (bad)
		later_x = 1;
	(void)!write(ends[1], "y", 1);
}
PAIR(later, "the message that was read, not a later one")
{
	bad = broken;
	(void)!pipe(ends);
	pass(later_body, later_tell);
	printf("read\n");
}

BODY(pointer_body)
{
	int *m;

	while (read(ends[0], &m, sizeof m) == sizeof m && m) {
		++*m;
		free(m);
	}
	return arg;
}
static void pointer_tell(void)
{
	int *m = NULL;

	for (int i = 0; i < 3; i++) {
		m = malloc(sizeof *m);
		*m = i;
		(void)!write(ends[1], &m, sizeof m);
		if (bad)
			*m = 7;
	}
	m = NULL;
	(void)!write(ends[1], &m, sizeof m);
}
PAIR(pointer, "a pointer through a pipe")
{
	bad = broken;
	(void)!pipe(ends);
	pass(pointer_body, pointer_tell);
	printf("passed\n");
}

static int eof_x;
BODY(eof_body) { char c; (void)!read(ends[0], &c, 1); eof_x++; return arg; }
static void eof_tell(void) { TELL(eof_x, close(ends[1])); }
PAIR(eof, "the end of a pipe by close")
{
	bad = broken;
	(void)!pipe(ends);
	pass(eof_body, eof_tell);
	printf("closed\n");
}

static int poll_x;
BODY(poll_body)
{
	struct pollfd p = { ends[0], POLLIN, 0 };

	poll(&p, 1, -1);
	poll_x++;
	return arg;
}
static void poll_tell(void) { TELL(poll_x, (void)!write(ends[1], "x", 1)); }
PAIR(poll, "poll of a pipe")
{
	bad = broken;
	(void)!pipe(ends);
	pass(poll_body, poll_tell);
	printf("polled\n");
}

static int select_x;
BODY(select_body)
{
	fd_set s;

	FD_ZERO(&s);
	FD_SET(ends[0], &s);
	select(ends[0] + 1, &s, NULL, NULL, NULL);
	select_x++;
	return arg;
}
static void select_tell(void) { TELL(select_x, (void)!write(ends[1], "x", 1)); }
PAIR(select, "select of a pipe")
{
	bad = broken;
	(void)!pipe(ends);
	pass(select_body, select_tell);
	printf("selected\n");
}

static int eventfd_x;
BODY(eventfd_body) { eventfd_t v; eventfd_read(ends[0], &v); eventfd_x++; return arg; }
static void eventfd_tell(void) { TELL(eventfd_x, eventfd_write(ends[0], 1)); }
PAIR(eventfd, "eventfd")
{
	bad = broken;
	ends[0] = eventfd(0, EFD_SEMAPHORE);
	pass(eventfd_body, eventfd_tell);
	printf("counted\n");
}

static int socket_x;
BODY(socket_body) { char c; recv(ends[0], &c, 1, 0); socket_x++; return arg; }
static void socket_tell(void) { TELL(socket_x, send(ends[1], "x", 1, 0)); }
PAIR(socket, "a pair of sockets")
{
	bad = broken;
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	pass(socket_body, socket_tell);
	printf("received\n");
}

static int epoll_x;
BODY(epoll_body)
{
	struct epoll_event e = { .events = EPOLLIN };
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e);
	epoll_wait(set, &e, 1, -1);
	epoll_x++;
	return arg;
}
static void epoll_tell(void) { TELL(epoll_x, (void)!write(ends[1], "x", 1)); }
PAIR(epoll, "epoll of a pipe")
{
	bad = broken;
	(void)!pipe(ends);
	pass(epoll_body, epoll_tell);
	printf("ready\n");
}

static int signalfd_x;
BODY(signalfd_body)
{
	struct signalfd_siginfo info;

	(void)!read(ends[0], &info, sizeof info);
	signalfd_x++;
	return arg;
}
static void signalfd_tell(void) { TELL(signalfd_x, kill(getpid(), SIGUSR1)); }
PAIR(signalfd, "kill, then a signalfd")
{
	sigset_t s;

	bad = broken;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
	ends[0] = signalfd(-1, &s, 0);
	pass(signalfd_body, signalfd_tell);
	printf("signalled\n");
}

static int timerfd_x;
static const struct itimerspec soon = { .it_value = { .tv_nsec = 1000000 } };
BODY(timerfd_body) { uint64_t n; (void)!read(ends[0], &n, sizeof n); timerfd_x++; return arg; }
static void timerfd_tell(void) { TELL(timerfd_x, timerfd_settime(ends[0], 0, &soon, NULL)); }
PAIR(timerfd, "timerfd")
{
	bad = broken;
	ends[0] = timerfd_create(CLOCK_MONOTONIC, 0);
	pass(timerfd_body, timerfd_tell);
	printf("elapsed\n");
}

/* The kernel hands a number out only after the close that freed it. */
static int number_x[64];
BODY(number_body)
{
	int fd;

	while ((fd = eventfd(0, 0)) != ends[0]) {
		close(fd);
		sched_yield();
	}
	number_x[fd]++;
	return arg;
}
static void number_tell(void)
{
	int fd = ends[0];

	TELL(number_x[fd], close(fd));
}
PAIR(number, "the number of a closed descriptor, handed out again")
{
	bad = broken;
	ends[0] = eventfd(0, 0);
	pass(number_body, number_tell);
	printf("reused\n");
}

static int futex_x;
static atomic_int futex_word, futex_ready;
BODY(futex_body)
{
	atomic_store_explicit(&futex_ready, 1, memory_order_relaxed);
	if (syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL) == 0)
		futex_x++;
	return arg;
}
static void futex_tell(void)
{
	while (!atomic_load_explicit(&futex_ready, memory_order_relaxed))
		sched_yield();
	if (!bad)
		futex_x = 1;
	while (syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1) == 0)
		sched_yield();
	if (bad)
		futex_x = 1;
}
PAIR(futex, "a futex of the program's own")
{
	bad = broken;
	pass(futex_body, futex_tell);
	printf("woken\n");
}

static volatile int clone_x;
static atomic_int clone_tid;
static int clone_body(void *arg) { (void)arg; clone_x = 1; return 0; }
PAIR(clone, "clone, and the futex on its thread id")
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	static char stack[1 << 16] __attribute__((aligned(16)));
	int tid;

	clone(clone_body, stack + sizeof stack, flags, NULL, &clone_tid, NULL, &clone_tid);
	if (broken)
		clone_x = 2;
	while ((tid = atomic_load_explicit(&clone_tid, memory_order_acquire)) != 0)
		syscall(SYS_futex, &clone_tid, FUTEX_WAIT, tid, NULL);
	clone_x = 3;
	printf("%d\n", clone_x);
}

/* Calls touch memory. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void enter(void) { if (!bad) pthread_mutex_lock(&lock); }
static void leave(void) { if (!bad) pthread_mutex_unlock(&lock); }

static int file_number_x;
BODY(file_number_body)
{
	int fd, other;

	while ((fd = open("/dev/null", O_RDONLY)) != ends[0]) {
		close(fd);
		sched_yield();
	}
	other = eventfd(0, 0);
	enter();
	file_number_x += fd < other;
	leave();
	return arg;
}
static void file_number_tell(void)
{
	enter();
	file_number_x = 1;
	leave();
	close(ends[0]);
}
PAIR(file_number, "numbers of files, and other numbers, order nothing")
{
	bad = broken;
	ends[0] = open("/dev/null", O_RDONLY);
	pass(file_number_body, file_number_tell);
	printf("opened\n");
}

static char buffer_x[16];
BODY(buffer_body)
{
	enter();
	(void)!read(ends[0], buffer_x, 8);
	leave();
	return arg;
}
static volatile char seen;
static void buffer_look(void) { enter(); seen = buffer_x[3]; leave(); }
PAIR(buffer, "read into a shared buffer")
{
	bad = broken;
	(void)!pipe(ends);
	(void)!write(ends[1], "12345678", 8);
	pass(buffer_body, buffer_look);
	printf("looked\n");
}

static char out_x[16] = "output";
BODY(out_body)
{
	enter();
	(void)!write(ends[1], out_x, 6);
	leave();
	return arg;
}
static void out_change(void) { enter(); out_x[2] = 'T'; leave(); }
PAIR(out, "write from a shared buffer")
{
	bad = broken;
	(void)!pipe(ends);
	pass(out_body, out_change);
	printf("written\n");
}

static struct timespec clock_x;
BODY(clock_body)
{
	enter();
	clock_gettime(CLOCK_MONOTONIC, &clock_x);
	leave();
	return arg;
}
static void clock_look(void) { clock_body(NULL); }
PAIR(clock, "clock_gettime into a shared variable")
{
	bad = broken;
	pass(clock_body, clock_look);
	printf("%d\n", clock_x.tv_sec >= 0);
}

static pthread_t handle_x;
static void *handle_none(void *arg) { return arg; }
BODY(handle_body)
{
	enter();
	pthread_create(&handle_x, NULL, handle_none, NULL);
	leave();
	return arg;
}
static void handle_look(void) { enter(); seen = handle_x == 1; leave(); }
PAIR(handle, "the handle that pthread_create stores")
{
	bad = broken;
	pass(handle_body, handle_look);
	pthread_join(handle_x, NULL);
	printf("created\n");
}

static pthread_mutex_t init_x;
BODY(init_body)
{
	if (bad)
		pthread_mutex_init(&init_x, NULL);
	pthread_mutex_lock(&init_x);
	pthread_mutex_unlock(&init_x);
	return arg;
}
static void init_both(void) { init_body(NULL); }
PAIR(init, "initialising a mutex while another thread uses it")
{
	bad = broken;
	pthread_mutex_init(&init_x, NULL);
	pass(init_body, init_both);
	printf("locked\n");
}
