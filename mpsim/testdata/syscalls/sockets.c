#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int check(const char *what, long r)
{
	if (r < 0)
		printf("%s: %s\n", what, strerror(errno));
	return r;
}

static socklen_t make(int family, struct sockaddr_storage *a, int which)
{
	memset(a, 0, sizeof *a);
	a->ss_family = family;
	if (family == AF_UNIX) {
		struct sockaddr_un *u = (void *)a;
		if (which == 1) { /* abstract */
			sprintf(u->sun_path + 1, "hindsight-test-%d", getpid());
			return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(u->sun_path + 1);
		}
		sprintf(u->sun_path, "/tmp/hindsight-test-%d-%d", getpid(), which);
		return sizeof *u;
	}
	if (family == AF_INET) {
		((struct sockaddr_in *)a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(struct sockaddr_in);
	}
	((struct sockaddr_in6 *)a)->sin6_addr = in6addr_loopback;
	return sizeof(struct sockaddr_in6);
}

static void *echo(void *arg)
{
	int listener = *(int *)arg;
	for (int n = 0; n < 3; n++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof from;
		int fd = check("accept", accept(listener, (void *)&from, &len));
		char b[100];
		ssize_t got;
		while ((got = recv(fd, b, sizeof b, 0)) > 0)
			check("send", send(fd, b, got, MSG_NOSIGNAL));
		check("recv", got);
		close(fd);
	}
	return 0;
}

static void stream(int family, int which)
{
	printf("stream family %d, %d\n", family, which);
	struct sockaddr_storage a;
	socklen_t len = make(family, &a, which);
	int s = check("socket", socket(family, SOCK_STREAM, 0)), one = 1;
	check("setsockopt", setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
	check("bind", bind(s, (void *)&a, len));
	check("bind again", bind(s, (void *)&a, len));
	check("listen", listen(s, 5));
	if (family != AF_UNIX)
		check("getsockname", getsockname(s, (void *)&a, &len));
	int accepts = 0;
	socklen_t size = sizeof accepts;
	check("getsockopt", getsockopt(s, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size));
	printf("accepts %d\n", accepts);
	pthread_t t;
	pthread_create(&t, 0, echo, &s);
	for (int n = 0; n < 3; n++) {
		int fd = check("socket", socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
		struct sockaddr_storage peer;
		socklen_t plen = sizeof peer;
		check("getpeername before", getpeername(fd, (void *)&peer, &plen));
		check("connect", connect(fd, (void *)&a, len));
		check("getpeername", getpeername(fd, (void *)&peer, &plen));
		printf("peer family %d same %d\n", peer.ss_family, plen == len && !memcmp(&peer, &a, len));
		char out[50], in[50] = "";
		sprintf(out, "message %d", n);
		check("write", write(fd, out, strlen(out)));
		check("peek", recv(fd, in, 3, MSG_PEEK | MSG_WAITALL));
		printf("peeked %s\n", in);
		check("recv", recv(fd, in, strlen(out), MSG_WAITALL));
		printf("got %s\n", in);
		check("shutdown", shutdown(fd, SHUT_WR));
		printf("at the end %zd\n", read(fd, in, sizeof in));
		struct pollfd p = {fd, POLLIN | POLLRDHUP};
		poll(&p, 1, 1000);
		printf("poll %x\n", p.revents & (POLLIN | POLLRDHUP));
		close(fd);
	}
	pthread_join(t, 0);
	close(s);
	int fd = socket(family, SOCK_STREAM, 0);
	check("connect to nobody", connect(fd, (void *)&a, len));
	check("send unconnected", send(fd, "x", 1, MSG_NOSIGNAL) < 0 ? -1 : 0);
	close(fd);
	if (family == AF_UNIX && which != 1) {
		struct stat st;
		check("stat", stat(((struct sockaddr_un *)&a)->sun_path, &st));
		printf("is a socket %d\n", S_ISSOCK(st.st_mode));
		check("unlink", unlink(((struct sockaddr_un *)&a)->sun_path));
		fd = socket(family, SOCK_STREAM, 0);
		check("connect to no file", connect(fd, (void *)&a, len));
		close(fd);
	}
}

static void datagrams(int family, int which)
{
	printf("datagrams family %d\n", family);
	struct sockaddr_storage a, b, from;
	socklen_t la = make(family, &a, which), lb = make(family, &b, which + 1), lf = sizeof from;
	int x = check("socket", socket(family, SOCK_DGRAM, 0)), y = check("socket", socket(family, SOCK_DGRAM, 0));
	check("bind", bind(x, (void *)&a, la));
	check("bind", bind(y, (void *)&b, lb));
	if (family != AF_UNIX) {
		getsockname(x, (void *)&a, &la);
		getsockname(y, (void *)&b, &lb);
	}
	check("send to nobody", send(y, "x", 1, 0));
	struct iovec v[2] = {{"one ", 4}, {"message", 8}};
	struct msghdr m = {&a, la, v, 2};
	check("sendmsg", sendmsg(y, &m, 0));
	check("sendto", sendto(y, "another", 8, 0, (void *)&a, la));
	char in[40], in2[4];
	printf("got %zd", recvfrom(x, in, sizeof in, 0, (void *)&from, &lf));
	printf(" %s, from y %d\n", in, lf == lb && !memcmp(&from, &b, lb));
	struct iovec w[2] = {{in2, 3}, {in, 2}};
	struct msghdr r = {&from, sizeof from, w, 2};
	printf("got %zd of two buffers %.3s %.2s\n", recvmsg(x, &r, 0), in2, in);
	printf("none %zd %s\n", recv(x, in, sizeof in, MSG_DONTWAIT), strerror(errno));
	check("connect", connect(x, (void *)&b, lb));
	check("send", send(x, "back", 5, 0));
	printf("got %zd", recv(y, in, sizeof in, 0));
	printf(" %s\n", in);
	close(x), close(y);
	if (family == AF_UNIX) {
		unlink(((struct sockaddr_un *)&a)->sun_path);
		unlink(((struct sockaddr_un *)&b)->sun_path);
	}
}

/* One thread serves four clients through epoll. */
static struct sockaddr_storage serverAddr;
static socklen_t serverLen;

static void *client(void *arg)
{
	long id = (long)arg, sum = 0;
	int fd = check("socket", socket(AF_INET, SOCK_STREAM, 0));
	check("connect", connect(fd, (void *)&serverAddr, serverLen));
	for (int i = 0; i < 20; i++) {
		int v = id * 100 + i, back;
		check("write", write(fd, &v, sizeof v));
		check("recv", recv(fd, &back, sizeof back, MSG_WAITALL));
		sum += back;
	}
	close(fd);
	return (void *)sum;
}

static void server(void)
{
	int s = check("socket", socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	serverLen = make(AF_INET, &serverAddr, 0);
	check("bind", bind(s, (void *)&serverAddr, serverLen));
	check("listen", listen(s, 16));
	getsockname(s, (void *)&serverAddr, &serverLen);
	printf("nobody yet: %d %s\n", accept(s, 0, 0), strerror(errno));
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, client, (void *)i);
	int ep = epoll_create1(0), open = 0, served = 0;
	struct epoll_event e = {EPOLLIN, {.fd = s}}, got[8];
	epoll_ctl(ep, EPOLL_CTL_ADD, s, &e);
	while (served < 4) {
		int n = epoll_wait(ep, got, 8, 5000);
		for (int i = 0; i < n; i++) {
			if (got[i].data.fd == s) {
				int fd;
				while ((fd = accept4(s, 0, 0, SOCK_NONBLOCK)) >= 0) {
					struct epoll_event c = {EPOLLIN | EPOLLRDHUP, {.fd = fd}};
					epoll_ctl(ep, EPOLL_CTL_ADD, fd, &c);
					open++;
				}
				continue;
			}
			int v;
			ssize_t r = read(got[i].data.fd, &v, sizeof v);
			if (r == sizeof v) {
				v = -v;
				check("answer", send(got[i].data.fd, &v, sizeof v, MSG_NOSIGNAL));
			} else if (r == 0) {
				close(got[i].data.fd);
				served++;
			}
		}
	}
	long all = 0;
	for (int i = 0; i < 4; i++) {
		void *sum;
		pthread_join(t[i], &sum);
		all += (long)sum;
	}
	printf("opened %d, served %d, sum %ld\n", open, served, all);
	close(s);
}

int main(void)
{
	stream(AF_UNIX, 0);
	stream(AF_UNIX, 1);
	stream(AF_INET, 0);
	stream(AF_INET6, 0);
	datagrams(AF_UNIX, 2);
	datagrams(AF_INET, 0);
	server();
	check("no such family", socket(4000, SOCK_STREAM, 0));
	check("no such type", socket(AF_INET, SOCK_SEQPACKET, 0));
	check("not a socket", listen(0, 1));
	int any = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in elsewhere = {AF_INET, htons(80), {htonl(0xc0000201)}};
	check("bind elsewhere", bind(any, (void *)&elsewhere, sizeof elsewhere));
	struct sockaddr_storage none;
	socklen_t len = sizeof none;
	check("getsockname", getsockname(any, (void *)&none, &len));
	printf("unbound: port %d, %d bytes\n", ((struct sockaddr_in *)&none)->sin_port, len);
	int pair[2];
	check("socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	struct iovec v[2] = {{"ab", 2}, {"cd", 2}};
	writev(pair[0], v, 2);
	char in[10] = "";
	printf("pair %zd %s\n", read(pair[1], in, sizeof in), in);
	fd_set set;
	FD_ZERO(&set);
	FD_SET(pair[1], &set);
	struct timeval soon = {0, 1000};
	printf("select %d\n", select(pair[1] + 1, &set, 0, 0, &soon));
	return 0;
}
