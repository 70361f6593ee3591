// Values that leave the registers and memory of a thread and come back. Each
// line with SINK(a, b, …) has to have the lines of these names in its slice, and
// none with a name that begins with "not_".
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>
#include <cstdlib>
#include <future>
#include <iostream>

static volatile int seed = 5;
static int fds[2];
static int got, value;
static int data[8] = {3, 1, 4, 1, 5, 9, 2, 6};

static void *returns(void *) {
    long r = seed + 1; // returned
    return (void *)r;
}
static void *exits(void *) {
    long r = seed + 2; // exited
    pthread_exit((void *)r);
}
static int ends(void *) {
    int r = seed + 3; // ended
    return r;
}
static int later(int x) {
    int r = x * 2; // async
    return r;
}
static void *reads(void *) {
    long v = 0;
    if (read(fds[0], &v, sizeof v) < 0) // read
        return 0;
    return (void *)v;
}
static void handle(int, siginfo_t *info, void *) {
    got = info->si_value.sival_int; // handled
}

int main() {
    pthread_t t;
    thrd_t c;
    void *r;
    int i, n;

    pthread_create(&t, 0, returns, 0);
    pthread_join(t, &r); // joined
    long a = (long)r; // SINK(returned, joined, not_written)
    pthread_create(&t, 0, exits, 0);
    pthread_join(t, &r);
    long b = (long)r; // SINK(exited)
    thrd_create(&c, ends, 0);
    thrd_join(c, &n);
    int d = n; // SINK(ended)
    auto f = std::async(std::launch::async, later, (int)seed);
    int e = f.get(); // SINK(async)

    if (pipe(fds))
        return 1;
    pthread_create(&t, 0, reads, 0);
    for (volatile int k = 0; k < 3000; k++)
        ;
    long w = seed * 7; // piped
    long other = seed * 8; // not_written
    n = write(fds[1], &w, sizeof w); // write
    pthread_join(t, &r);
    long g = (long)r; // SINK(piped, read, write, not_written)

    int fd = open("/tmp/file", O_RDWR | O_CREAT, 0600);
    int one = seed + 10; // one
    int two = seed + 20; // two
    n = pwrite(fd, &one, 4, 0);
    n = pwrite(fd, &two, 4, 4);
    int in = 0;
    n = pread(fd, &in, 4, 4);
    int h = in; // SINK(two, not_written)
    int *map = (int *)mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    int j = map[0]; // SINK(one)
    lseek(fd, 4, SEEK_SET); // sought
    struct iovec io = {&in, 4};
    n = readv(fd, &io, 1);
    int k = in; // SINK(two, sought)

    FILE *file = fopen("/tmp/text", "w+");
    int number = seed + 30; // printed
    fprintf(file, "%d", number);
    rewind(file);
    int scanned = 0;
    n = fscanf(file, "%d", &scanned);
    int l = scanned; // SINK(printed)

    struct sigaction act = {};
    act.sa_sigaction = handle;
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &act, 0); // installed
    union sigval sv;
    sv.sival_int = seed + 40; // sent
    sigqueue(getpid(), SIGUSR1, sv); // queued
    int m = got; // SINK(handled, sent, queued, installed)

    struct rlimit lim = {(rlim_t)seed, 100}, now; // limited
    setrlimit(RLIMIT_CORE, &lim);
    getrlimit(RLIMIT_CORE, &now);
    int o = now.rlim_cur; // SINK(limited)
    umask(seed); // masked
    int p = umask(0); // SINK(masked)
    int *zero = (int *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    zero[1] = seed; // not_zeroed
    madvise(zero, 4096, MADV_DONTNEED); // dropped
    int q = zero[1]; // SINK(dropped, not_zeroed)
    unsigned long add = seed + 50, sum; // counted
    int ev = eventfd(0, 0);
    n = write(ev, &add, 8);
    n = read(ev, &sum, 8);
    int s = sum; // SINK(counted)
    char name[16] = {};
    prctl(PR_SET_NAME, "abc"); // named
    prctl(PR_GET_NAME, name);
    int u = name[1]; // SINK(named)
    long tid = syscall(SYS_gettid, other); // not_taken
    int v = tid; // SINK(not_written)

    i = 0;
    data[5] = seed + 4; // stopped
    while (data[i] != 9)
        i++;
    value = i; // SINK(stopped)
    std::cout << a + b + d + e + g + h + j + k + l + m + o + p + q + s + u + v + value + other << "\n";
    return 0;
}
