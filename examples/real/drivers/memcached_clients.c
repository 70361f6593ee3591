// A memcached server and threads that are its clients, in one process: main of
// memcached.c is server_main.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { clients = 4, rounds = 40, port = 21911 };

int server_main(int argc, char **argv);

static void *serve(void *unused) {
    char *argv[] = {"memcached", "-t", "3", "-m", "8", "-U", "0", "-u", "root", "-l", "127.0.0.1", "-p", "21911", NULL};
    server_main(sizeof argv / sizeof *argv - 1, argv);
    return unused;
}

static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (int i = 0; i < 1000; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
            return fd;
        close(fd);
        usleep(1000);
    }
    perror("connect");
    exit(1);
}

// ask sends a request and reads until the answer ends with end.
static void ask(int fd, const char *request, char *answer, size_t room, const char *end) {
    size_t n = strlen(request), got = 0;
    if (write(fd, request, n) != (ssize_t)n) {
        perror("write");
        exit(1);
    }
    do {
        ssize_t more = read(fd, answer + got, room - 1 - got);
        if (more <= 0) {
            perror("read");
            exit(1);
        }
        got += more;
        answer[got] = 0;
    } while (got < strlen(end) || strcmp(answer + got - strlen(end), end) != 0);
}

static void *client(void *arg) {
    long id = (long)arg, good = 0;
    char request[200], answer[400], want[100];
    int fd = dial();
    for (int i = 0; i < rounds; i++) {
        snprintf(want, sizeof want, "value %ld of %d", id, i);
        snprintf(request, sizeof request, "set key-%ld-%d 0 0 %zu\r\n%s\r\n", id, i % 7, strlen(want), want);
        ask(fd, request, answer, sizeof answer, "\r\n");
        good += strcmp(answer, "STORED\r\n") == 0;
        snprintf(request, sizeof request, "get key-%ld-%d\r\n", id, i % 7);
        ask(fd, request, answer, sizeof answer, "END\r\n");
        good += strstr(answer, want) != NULL;
        ask(fd, i == 0 ? "set total 0 0 1\r\n0\r\n" : "incr total 1\r\n", answer, sizeof answer, "\r\n");
    }
    close(fd);
    return (void *)good;
}

int main(void) {
    pthread_t server, t[clients];
    pthread_create(&server, NULL, serve, NULL);
    close(dial());
    for (long i = 0; i < clients; i++)
        pthread_create(&t[i], NULL, client, (void *)i);
    for (int i = 0; i < clients; i++) {
        void *good;
        pthread_join(t[i], &good);
        printf("client %d: %ld of %d good\n", i, (long)good, 2 * rounds);
    }
    fflush(stdout);
    _exit(0);
}
