// Bytes from one descriptor to another, and descriptors that go through sockets.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int file(const char *text)
{
	char name[] = "/tmp/transferXXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	if (write(fd, text, strlen(text)) < 0)
		perror("write");
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void show(const char *what, int fd)
{
	char b[100];
	int n = pread(fd, b, sizeof b, 0);
	printf("%s: %d %.*s\n", what, n, n < 0 ? 0 : n, b);
}

static int give(int by, const char *text, const int *fds, int n)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(4 * sizeof(int))]; } c;
	struct iovec v = {(char *)text, strlen(text)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	return sendmsg(by, &m, 0);
}

static int take(int by, int *fds, int room)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(4 * sizeof(int))]; } c;
	char text[40];
	struct iovec v = {text, sizeof text};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = room ? CMSG_LEN(room * sizeof(int)) : 0};
	int n = recvmsg(by, &m, 0), got = 0;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_type == SCM_RIGHTS) {
		got = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(h), got * sizeof(int));
	}
	printf("received %.*s with %d\n", n, text, got);
	return got;
}

int main(void)
{
	int in = file("one two three"), out = file(""), p[2], s[2], fds[4];
	printf("sendfile %zd\n", sendfile(out, in, 0, 7));
	off_t at = 8;
	printf("sendfile %zd at %ld\n", sendfile(out, in, &at, 100), (long)at);
	printf("end %zd, position %ld\n", sendfile(out, in, &at, 100), (long)lseek(in, 0, SEEK_CUR));
	show("out", out);
	loff_t from = 4, to = 1;
	printf("copy %zd %ld %ld\n", copy_file_range(in, &from, out, &to, 3, 0), (long)from, (long)to);
	show("out", out);
	if (pipe(p) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0)
		return 1;
	printf("splice %zd\n", splice(in, &from, p[1], 0, 5, 0));
	printf("splice %zd\n", splice(p[0], 0, out, 0, 100, 0));
	show("out", out);
	printf("empty %zd %d\n", splice(p[0], 0, out, 0, 100, SPLICE_F_NONBLOCK), errno == EAGAIN);
	printf("no pipe %zd %d\n", splice(in, 0, out, 0, 5, 0), errno == EINVAL);
	printf("no file %zd %d\n", sendfile(out, p[0], 0, 5), errno == EINVAL || errno == ESPIPE);
	printf("sendfile to a pipe %zd\n", sendfile(p[1], in, 0, 100));
	close(p[1]);
	printf("the rest %zd, the end %zd\n", splice(p[0], 0, out, 0, 100, 0), splice(p[0], 0, out, 0, 100, 0));

	printf("sent %d\n", give(s[0], "a", (int[]){in, out}, 2));
	printf("sent %d\n", give(s[0], "b", (int[]){in}, 1));
	printf("plain %zd\n", write(s[0], "c", 1));
	if (take(s[1], fds, 4) == 2) {
		show("received first", fds[0]);
		show("received second", fds[1]);
	}
	take(s[1], fds, 4);
	take(s[1], fds, 4);
	give(s[0], "d", (int[]){in, out}, 2);
	take(s[1], fds, 1);
	give(s[0], "e", (int[]){in}, 1);
	take(s[1], fds, 0);
	printf("bad %d %d\n", give(s[0], "f", (int[]){99}, 1), errno == EBADF);
	return 0;
}
