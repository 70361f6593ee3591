// Several messages with one call: sendmmsg and recvmmsg.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 8
static struct mmsghdr out[MOST], in[MOST];
static struct iovec outv[MOST], inv[MOST];
static char text[MOST][16], got[MOST][16];
static struct sockaddr_in from[MOST];

static void prepare(int n, const char *prefix)
{
	memset(out, 0, sizeof out);
	for (int i = 0; i < n; i++) {
		outv[i].iov_base = text[i];
		outv[i].iov_len = sprintf(text[i], "%s %d", prefix, i) - i % 3;
		out[i].msg_hdr.msg_iov = &outv[i];
		out[i].msg_hdr.msg_iovlen = 1;
	}
}

static void room(int n, size_t size)
{
	memset(in, 0, sizeof in);
	memset(got, 0, sizeof got);
	for (int i = 0; i < n; i++) {
		inv[i].iov_base = got[i];
		inv[i].iov_len = size;
		in[i].msg_hdr.msg_iov = &inv[i];
		in[i].msg_hdr.msg_iovlen = 1;
		in[i].msg_len = 99;
	}
}

static void show(const char *what, int n)
{
	printf("%s: %d%s%s\n", what, n, n < 0 ? " " : "", n < 0 ? strerror(errno) : "");
	for (int i = 0; i < n; i++)
		printf("  %u [%.15s] flags %x name %u\n", in[i].msg_len, got[i], in[i].msg_hdr.msg_flags, in[i].msg_hdr.msg_namelen);
	fflush(stdout);
}

static int pair[2];

static void *late(void *arg)
{
	for (int i = 0; i < 3; i++) {
		usleep(20000);
		prepare(2, "late");
		sendmmsg(pair[0], out, i == 2 ? 1 : 2, 0);
	}
	return arg;
}

static void internet(void)
{
	int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, b;
	socklen_t n = sizeof a;
	bind(server, (struct sockaddr *)&a, sizeof a);
	getsockname(server, (struct sockaddr *)&a, &n);
	prepare(4, "udp");
	for (int i = 0; i < 4; i++) {
		out[i].msg_hdr.msg_name = &a;
		out[i].msg_hdr.msg_namelen = sizeof a;
	}
	printf("sent %d\n", sendmmsg(client, out, 4, 0));
	for (int i = 0; i < 4; i++)
		printf("  %u of %zu\n", out[i].msg_len, outv[i].iov_len);
	room(MOST, 15);
	for (int i = 0; i < MOST; i++) {
		in[i].msg_hdr.msg_name = &from[i];
		in[i].msg_hdr.msg_namelen = sizeof from[i];
	}
	show("udp", recvmmsg(server, in, MOST, MSG_DONTWAIT, NULL));
	n = sizeof b;
	getsockname(client, (struct sockaddr *)&b, &n);
	printf("from the client: %d\n", from[0].sin_port == b.sin_port && from[3].sin_port == b.sin_port);
	show("none left", recvmmsg(server, in, MOST, MSG_DONTWAIT, NULL));
	close(server);
	close(client);
}

static void *drain(void *arg)
{
	static char b[50000];
	long all = 0, n, bad = 0;
	usleep(20000);
	while ((n = read(pair[1], b, sizeof b)) > 0) {
		for (long i = 0; i < n; i++)
			bad += b[i] != (all + i < 300000 ? 'a' : all + i < 600000 ? 'b' : 'c');
		all += n;
	}
	printf("drained %ld, %ld wrong\n", all, bad);
	return arg;
}

static void stream(void)
{
	pthread_t t;
	static char big[3][300000];
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	prepare(3, "");
	for (int i = 0; i < 3; i++) {
		memset(big[i], 'a' + i, sizeof big[i]);
		outv[i].iov_base = big[i];
		outv[i].iov_len = sizeof big[i];
	}
	pthread_create(&t, NULL, drain, NULL);
	printf("stream %d\n", sendmmsg(pair[0], out, 3, 0));
	for (int i = 0; i < 3; i++)
		printf("  %u\n", out[i].msg_len);
	close(pair[0]);
	pthread_join(t, NULL);
	close(pair[1]);
}

int main(void)
{
	pthread_t t;

	internet();
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	prepare(5, "message");
	printf("sent %d\n", sendmmsg(pair[0], out, 5, 0));
	room(MOST, 15);
	show("two", recvmmsg(pair[1], in, 2, 0, NULL));
	room(MOST, 4);
	show("cut short", recvmmsg(pair[1], in, 1, 0, NULL));
	room(MOST, 15);
	show("one is enough", recvmmsg(pair[1], in, MOST, MSG_WAITFORONE, NULL));
	pthread_create(&t, NULL, late, NULL);
	room(MOST, 15);
	show("waits", recvmmsg(pair[1], in, 5, 0, NULL));
	pthread_join(t, NULL);
	prepare(3, "timed");
	sendmmsg(pair[0], out, 3, 0);
	room(MOST, 15);
	show("nothing wanted", recvmmsg(pair[1], in, 0, 0, NULL));
	in[1].msg_hdr.msg_iov = (struct iovec *)8;
	show("bad second", recvmmsg(pair[1], in, 3, MSG_DONTWAIT, NULL));
	show("no descriptor", recvmmsg(99, in, 1, 0, NULL));
	show("no socket", sendmmsg(0, out, 1, 0));
	prepare(3, "part");
	out[1].msg_hdr.msg_iov = (struct iovec *)8;
	printf("bad second: %d\n", sendmmsg(pair[0], out, 3, 0));
	out[0].msg_hdr.msg_iov = (struct iovec *)8;
	show("bad first", sendmmsg(pair[0], out, 3, 0));
	close(pair[1]);
	prepare(1, "gone");
	show("nobody", sendmmsg(pair[0], out, 1, MSG_NOSIGNAL));
	close(pair[0]);
	stream();
	return 0;
}
