// Calls that do what older ones do, with more flags, and small ones.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void show(const char *what, long n)
{
	printf("%s: %ld%s%s\n", what, n, n < 0 ? " " : "", n < 0 ? strerror(errno) : "");
}

struct attr { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; };

int main(void)
{
	char name[] = "/tmp/againXXXXXX", a[8] = "", b[8] = "";
	int fd = mkstemp(name);
	struct iovec out[2] = {{"abcd", 4}, {"efghij", 6}}, in[2] = {{a, 3}, {b, 5}};
	show("pwritev2", pwritev2(fd, out, 2, 2, 0));
	show("pwritev2 at the position", pwritev2(fd, out, 1, -1, 0));
	show("position", lseek(fd, 0, SEEK_CUR));
	show("preadv2", preadv2(fd, in, 2, 1, 0));
	printf("%.3s %.5s\n", a, b);
	show("preadv2 at the position", preadv2(fd, in, 1, -1, 0));
	printf("%.3s\n", a);
	show("preadv2 of nothing", preadv2(99, in, 1, 0, 0));
	show("readahead", readahead(fd, 0, 100));
	show("readahead of nothing", readahead(99, 0, 100));
	show("sync_file_range", sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE));
	show("syncfs", syncfs(fd));
	show("syncfs of nothing", syncfs(99));
	unlink(name);

	siginfo_t info;
	show("waitid", waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
	show("waitid of one", waitid(P_PID, 4711, &info, WEXITED));
	struct timespec t = {-1, -1};
	show("interval", sched_rr_get_interval(0, &t));
	printf("%d\n", t.tv_sec == 0 && t.tv_nsec >= 0);
	struct attr at = {0};
	show("getattr", syscall(SYS_sched_getattr, 0, &at, sizeof at, 0));
	printf("%u %u %d %u\n", at.size, at.policy, at.nice, at.priority);
	show("getattr, too small", syscall(SYS_sched_getattr, 0, &at, 8, 0));
	show("getattr, flags", syscall(SYS_sched_getattr, 0, &at, sizeof at, 1));
	at.size = sizeof at;
	show("setattr", syscall(SYS_sched_setattr, 0, &at, 0));
	at.priority = 7;
	show("setattr with a priority", syscall(SYS_sched_setattr, 0, &at, 0));
	return 0;
}
