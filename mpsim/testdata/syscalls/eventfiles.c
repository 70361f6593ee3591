/* signalfd, timerfd, eventfd and the forms of epoll. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char *result(long n) { return n < 0 ? strerror(errno) : "good"; }

static int ready(int fd)
{
	struct pollfd p = {fd, POLLIN | POLLOUT, 0};
	poll(&p, 1, 0);
	return p.revents;
}

static void signals(void)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, 0);
	int fd = signalfd(-1, &s, SFD_NONBLOCK);
	struct signalfd_siginfo in[4];
	printf("empty: %s, ready %d\n", result(read(fd, in, sizeof in)), ready(fd));
	printf("short: %s\n", result(read(fd, in, 10)));
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR1);
	printf("ready %d\n", ready(fd));
	long n = read(fd, in, sizeof in);
	printf("read %ld:", n / (long)sizeof *in);
	for (int i = 0; i < n / (long)sizeof *in; i++)
		printf(" %d from %d code %d", in[i].ssi_signo, (int)in[i].ssi_pid == getpid(), in[i].ssi_code);
	union sigval v = {.sival_int = 77};
	sigqueue(getpid(), SIGUSR1, v);
	n = read(fd, in, sizeof in);
	printf("\nqueued: %ld, %d with %d\n", n / (long)sizeof *in, in[0].ssi_signo, in[0].ssi_int);
	sigdelset(&s, SIGUSR2);
	printf("narrower: %d\n", signalfd(fd, &s, 0) == fd);
	kill(getpid(), SIGUSR2);
	printf("ready %d\n", ready(fd));
	printf("no signalfd: %s\n", result(signalfd(0, &s, 0)));
	struct timespec none = {0};
	sigaddset(&s, SIGUSR2);
	printf("waited for: %d", sigtimedwait(&s, 0, &none));
	printf(", then %s\n", result(sigtimedwait(&s, 0, &none)));
	close(fd);
}

static void timers(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec set = {{0, 2000000}, {0, 3000000}}, now;
	uint64_t n = 0;
	printf("unset: %s, ready %d\n", result(read(fd, &n, 8)), ready(fd));
	printf("set: %s\n", result(timerfd_settime(fd, 0, &set, 0)));
	timerfd_gettime(fd, &now);
	printf("interval %ld, left %d\n", now.it_interval.tv_nsec, now.it_value.tv_nsec > 0 && now.it_value.tv_nsec <= 3000000);
	struct pollfd p = {fd, POLLIN, 0};
	printf("poll %d", poll(&p, 1, -1));
	printf(", read %zd", read(fd, &n, 8));
	printf(", expired %d\n", n >= 1);
	printf("short: %s\n", result(read(fd, &n, 4)));
	memset(&set, 0, sizeof set);
	printf("stop: %s", result(timerfd_settime(fd, 0, &set, &now)));
	printf(", was %ld\n", now.it_interval.tv_nsec);
	set.it_value.tv_nsec = 1000000000;
	printf("bad time: %s\n", result(timerfd_settime(fd, 0, &set, 0)));
	printf("bad clock: %s\n", result(timerfd_create(99, 0)));
	set.it_value.tv_nsec = 1; /* long ago */
	printf("absolute: %s", result(timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, 0)));
	p.revents = 0;
	poll(&p, 1, -1);
	printf(", read %zd", read(fd, &n, 8));
	printf(", expired %d\n", (int)n);
	close(fd);
}

static void *later(void *fd)
{
	usleep(3000);
	eventfd_write((int)(long)fd, 5);
	return 0;
}

static void counters(void)
{
	eventfd_t v;
	int fd = eventfd(2, EFD_NONBLOCK), sem = eventfd(0, EFD_SEMAPHORE);
	printf("ready %d", ready(fd));
	eventfd_write(fd, 40);
	printf(", read %s", result(eventfd_read(fd, &v)));
	printf(" %d, ready %d", (int)v, ready(fd));
	printf(", read %s\n", result(eventfd_read(fd, &v)));
	printf("most: %s", result(eventfd_write(fd, 0xfffffffffffffffe)));
	printf(", one more: %s", result(eventfd_write(fd, 1)));
	printf(", too much: %s, ready %d\n", result(eventfd_write(fd, -1)), ready(fd));
	pthread_t t;
	pthread_create(&t, 0, later, (void *)(long)sem);
	for (int i = 0; i < 5; i++) {
		eventfd_read(sem, &v);
		printf("%d ", (int)v);
	}
	pthread_join(t, 0);
	printf("ready %d\n", ready(sem));
	close(fd);
	close(sem);
}

static void sets(void)
{
	struct epoll_event e[4], want = {.events = EPOLLIN | EPOLLET, .data.u64 = 0x1234567890};
	int set = epoll_create1(0), p[2], other;
	pipe(p);
	printf("add %s", result(epoll_ctl(set, EPOLL_CTL_ADD, p[0], &want)));
	printf(", again %s\n", result(epoll_ctl(set, EPOLL_CTL_ADD, p[0], &want)));
	write(p[1], "ab", 2);
	printf("edge: %d", epoll_wait(set, e, 4, 0));
	printf(" %x %llx", e[0].events, (long long)e[0].data.u64);
	printf(", once: %d", epoll_wait(set, e, 4, 0));
	write(p[1], "c", 1);
	printf(", more: %d\n", epoll_wait(set, e, 4, 0));
	want.events = EPOLLIN | EPOLLONESHOT;
	epoll_ctl(set, EPOLL_CTL_MOD, p[0], &want);
	printf("one shot: %d", epoll_wait(set, e, 4, 0));
	printf(" %d", epoll_wait(set, e, 4, 0));
	epoll_ctl(set, EPOLL_CTL_MOD, p[0], &want);
	printf(", armed: %d\n", epoll_wait(set, e, 4, 0));
	want.events = EPOLLIN;
	epoll_ctl(set, EPOLL_CTL_MOD, p[0], &want);
	struct timespec none = {0, 1000};
	other = epoll_create1(EPOLL_CLOEXEC);
	printf("nested: %s", result(epoll_ctl(other, EPOLL_CTL_ADD, set, &want)));
	printf(", %d", epoll_wait(other, e, 4, 1));
	printf(", circle: %s\n", result(epoll_ctl(set, EPOLL_CTL_ADD, other, &want)));
	close(p[1]);
	printf("end: %d", epoll_wait(set, e, 4, 0));
	printf(" %x", e[0].events);
	char b[8];
	read(p[0], b, sizeof b);
	printf(", then %d", epoll_wait(set, e, 4, 0));
	printf(" %x\n", e[0].events);
	printf("gone: %s", result(epoll_ctl(set, EPOLL_CTL_DEL, p[0], 0)));
	printf(", %s\n", result(epoll_ctl(set, EPOLL_CTL_DEL, p[0], 0)));
	printf("none: %d", epoll_wait(set, e, 4, 1));
	printf(", %s", result(epoll_wait(set, e, 0, 0)));
	printf(", %s\n", result(epoll_ctl(set, EPOLL_CTL_ADD, set, &want)));
	int quiet = inotify_init1(IN_NONBLOCK);
	printf("inotify %d, ready %d, %s\n", inotify_add_watch(quiet, ".", IN_CREATE) > 0, ready(quiet), result(read(quiet, b, 8)));
}

int main(void)
{
	signals();
	timers();
	counters();
	sets();
	return 0;
}
