/* What a process knows of itself and may change: limits, processors, /proc. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *result(long n) { return n < 0 ? strerror(errno) : "good"; }

static pthread_barrier_t both;
static int other;
static void *wait_here(void *arg)
{
	prctl(PR_SET_NAME, "second");
	other = gettid();
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return arg;
}

/* line returns what is after the name on a line of a file. */
static char *line(const char *file, const char *name)
{
	static char text[300];
	FILE *f = fopen(file, "r");
	if (!f)
		return "no file";
	while (fgets(text, sizeof text, f))
		if (strncmp(text, name, strlen(name)) == 0) {
			fclose(f);
			text[strcspn(text, "\n")] = 0;
			return text + strlen(name);
		}
	fclose(f);
	return "no line";
}

static void limits(void)
{
	struct rlimit64 was, set, got;
	prlimit64(0, RLIMIT_NOFILE, 0, &was);
	set = (struct rlimit64){100, was.rlim_max};
	printf("set %s", result(prlimit64(0, RLIMIT_NOFILE, &set, &got)));
	printf(", old %d", got.rlim_cur == was.rlim_cur && got.rlim_max == was.rlim_max);
	getrlimit64(RLIMIT_NOFILE, &got);
	printf(", now %d\n", (int)got.rlim_cur);
	set.rlim_cur = 101, set.rlim_max = 100;
	printf("soft over hard: %s\n", result(setrlimit64(RLIMIT_NOFILE, &set)));
	setrlimit64(RLIMIT_NOFILE, &was);
	set = (struct rlimit64){0, 0};
	printf("core %s", result(setrlimit64(RLIMIT_CORE, &set)));
	getrlimit64(RLIMIT_CORE, &got);
	printf(" %d %d\n", (int)got.rlim_cur, (int)got.rlim_max);
	printf("bad: %s, %s\n", result(getrlimit64(99, &got)), result(prlimit64(0, -1, 0, &got)));
}

static void processors(void)
{
	cpu_set_t all, one;
	struct sched_param p;
	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	printf("pinned %s", result(sched_setaffinity(0, sizeof one, &one)));
	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof one, &one);
	printf(", to %d", CPU_COUNT(&one));
	printf(", back %s\n", result(sched_setaffinity(0, sizeof all, &all)));
	CPU_ZERO(&one);
	printf("nowhere: %s\n", result(sched_setaffinity(0, sizeof one, &one)));
	printf("cpu %d\n", sched_getcpu() >= 0);
	printf("policy %d, priorities %d to %d\n", sched_getscheduler(0), sched_get_priority_min(SCHED_RR), sched_get_priority_max(SCHED_RR));
	printf("parameters %s", result(sched_getparam(0, &p)));
	printf(" %d\n", p.sched_priority);
	p.sched_priority = 5;
	printf("bad: %s\n", result(sched_setscheduler(0, SCHED_OTHER, &p)));
	printf("barriers: %d", (int)(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0) & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0);
	printf(" %s", result(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0)));
	printf(" %s", result(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0)));
	printf(" %s\n", result(syscall(SYS_membarrier, 1 << 20, 0)));
	printf("rseq: %s\n", result(syscall(SYS_rseq, 0, 0, 0, 0)));
}

static void proc(int argc, char **argv)
{
	pthread_t t;
	char text[4096], name[100];
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, wait_here, 0);
	pthread_barrier_wait(&both);
	printf("pid %d", atoi(line("/proc/self/status", "Tgid:")) == getpid());
	printf(", threads %d", atoi(line("/proc/self/status", "Threads:")) >= 2);
	printf(", parent %d\n", atoi(line("/proc/self/status", "PPid:")) == getppid());
	snprintf(name, sizeof name, "/proc/self/task/%d/comm", other);
	printf("the second is called %s", line(name, ""));
	printf(" %d\n", strcmp(line("/proc/self/comm", ""), "") != 0);
	DIR *d = opendir("/proc/self/task");
	int seen = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		seen += atoi(e->d_name) == getpid() || atoi(e->d_name) == other;
	printf("tasks %d\n", seen);
	closedir(d);
	pthread_barrier_wait(&both);
	pthread_join(t, 0);
	snprintf(name, sizeof name, "/proc/self/task/%d", other);
	for (int i = 0; i < 2000 && access(name, F_OK) == 0; i++) /* Linux wakes the joiner before it removes the thread */
		usleep(1000);
	printf("it is gone: %s\n", result(open(name, O_RDONLY)));
	long n = readlink("/proc/self/exe", text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	printf("exe %d", strcmp(strrchr(text, '/') + 1, strrchr(argv[0], '/') + 1) == 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	printf(" %zd", read(fd, text, 4));
	printf(" %.3s\n", text + 1);
	close(fd);
	fd = open("/proc/self/cmdline", O_RDONLY);
	n = read(fd, text, sizeof text);
	close(fd);
	char *at = text;
	for (int i = 0; i < argc; i++, at += strlen(at) + 1)
		printf("argument %d\n", strcmp(at, argv[i]) == 0);
	printf("whole %d\n", at == text + n);
	FILE *f = fopen("/proc/self/maps", "r");
	int stack = 0, code = 0, heap = 0;
	while (fgets(text, sizeof text, f)) {
		unsigned long low, high;
		char r, w, x;
		if (sscanf(text, "%lx-%lx %c%c%c", &low, &high, &r, &w, &x) != 5)
			printf("strange line %s", text);
		stack += strstr(text, "[stack]") && low <= (unsigned long)&n && (unsigned long)&n < high && w == 'w';
		code += low <= (unsigned long)proc && (unsigned long)proc < high && x == 'x' && w == '-';
		heap += low <= (unsigned long)&both && (unsigned long)&both < high && w == 'w' && x == '-';
	}
	fclose(f);
	printf("stack %d, code %d, data %d\n", stack, code, heap);
	printf("processors %d\n", atoi(strchr(line("/proc/cpuinfo", "processor"), ':') + 1));
}

static void descriptors(void)
{
	char a[5] = "", b[5] = "";
	struct iovec v[2] = {{"abcd", 4}, {"efgh", 4}}, in[2] = {{a, 3}, {b, 4}};
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), other;
	if (fd < 0)
		fd = syscall(SYS_memfd_create, "x", 0);
	printf("written %zd", pwritev(fd, v, 2, 2));
	printf(", read %zd", preadv(fd, in, 2, 3));
	printf(" %s %s\n", a, b);
	other = dup2(fd, 50);
	printf("at %d, %s", other, result(close_range(50, 60, 0)));
	printf(", closed: %s\n", result(fcntl(50, F_GETFD)));
	other = fcntl(fd, F_DUPFD_CLOEXEC, 40);
	printf("at %d, flags %d\n", other, fcntl(other, F_GETFD));
}

int main(int argc, char **argv)
{
	limits();
	processors();
	proc(argc, argv);
	descriptors();
	return 0;
}
