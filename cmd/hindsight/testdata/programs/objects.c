// What objects of the kernel hold: attributes of files, sets of epoll, queues, sockets. Each line
// with SINK(a, b, …) has to have the lines of these names in its slice, and none with a
// name that begins with "not_".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <netinet/in.h>
#include <pthread.h>
static volatile long sink, seed = 5;
__attribute__((noinline)) static long mk(long x) { return x + seed; }
static void *client(void *p) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    connect(s, p, sizeof(struct sockaddr_in));
    long v = mk(40); // csend
    write(s, &v, 8); // cwrite
    return 0;
}
int main(void) {
    int efd = eventfd(0, 0), ep = epoll_create1(0);
    struct epoll_event ev = {EPOLLIN, {.u64 = (uint64_t)mk(130)}}; // epdata
    epoll_ctl(ep, EPOLL_CTL_ADD, efd, &ev); // epctl
    ev.data.u64 = mk(131); // epdata2
    epoll_ctl(ep, EPOLL_CTL_MOD, efd, &ev); // epmod
    uint64_t one = 1; write(efd, &one, 8); // efw
    struct epoll_event out;
    epoll_wait(ep, &out, 1, -1); // epw
    sink = out.data.u64; // SINK(epdata2, epmod, epw)
    fcntl(efd, F_SETFL, mk(0) ? O_NONBLOCK : 0); // setfl
    sink = fcntl(efd, F_GETFL); // SINK(setfl)
    int fd = open("/tmp/g", O_RDWR | O_CREAT, 0600); // opened
    chmod("/tmp/g", mk(0400)); // chm
    struct stat st;
    stat("/tmp/g", &st);
    sink = st.st_mode; // SINK(chm)
    long x[4] = {1, 2, 3, 4};
    x[3] = mk(4); // not_written
    write(fd, x, 32); // wx
    pwrite(fd, x, 8, 8); // not_pw
    fstat(fd, &st);
    sink = st.st_size; // SINK(wx, not_pw)
    sink = lseek(fd, 0, SEEK_END); // SINK(wx, not_pw)
    ftruncate(fd, mk(3)); // cutf
    stat("/tmp/g", &st);
    sink = st.st_size; // SINK(cutf, not_pw)
    ftruncate(fd, 4096);
    long z = 1;
    pread(fd, &z, 8, 16); // regrown
    sink = z; // SINK(regrown, not_written)
    int fd2 = open("/tmp/g", O_RDWR | O_TRUNC); // trunc
    fstat(fd, &st);
    sink = st.st_size; // SINK(trunc, not_pw)
    mqd_t q = mq_open("/q", O_RDWR | O_CREAT, 0600, 0);
    char msg[8192] = "a";
    msg[1] = mk(50); // mqm
    mq_send(q, msg, 10, 0); // mqs
    memset(msg, 0, sizeof msg);
    mq_receive(q, msg, sizeof msg, 0); // mqr
    sink = msg[1]; // SINK(mqm, mqs, mqr)
    int id = msgget(IPC_PRIVATE, 0600);
    struct { long t; char b[16]; } sm = {1, "x"};
    sm.b[2] = mk(60); // svm
    msgsnd(id, &sm, 16, 0); // svs
    memset(&sm, 0, sizeof sm);
    msgrcv(id, &sm, 16, 0, 0); // svr
    sink = sm.b[2]; // SINK(svm, svs, svr)
    struct sockaddr_in a = {AF_INET, htons(7777), {htonl(INADDR_LOOPBACK)}};
    int l = socket(AF_INET, SOCK_STREAM, 0);
    bind(l, (void *)&a, sizeof a); listen(l, 5);
    pthread_t t; pthread_create(&t, 0, client, &a);
    int c = accept(l, 0, 0);
    long v = 0;
    read(c, &v, 8); // sread
    sink = v; // SINK(csend, cwrite, sread)
    int d1 = socket(AF_UNIX, SOCK_DGRAM, 0), d2 = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un ua = {AF_UNIX, "/tmp/sock"};
    bind(d2, (void *)&ua, sizeof ua);
    v = mk(41); // dg
    sendto(d1, &v, 8, 0, (void *)&ua, sizeof ua); // sto
    v = mk(42); // not_dg2
    sendto(d1, &v, 8, 0, (void *)&ua, sizeof ua); // not_sto2
    long w = 0;
    recvfrom(d2, &w, 8, 0, 0, 0); // rfrom
    sink = w; // SINK(dg, sto, rfrom, not_dg2, not_sto2)
    return 0;
}
