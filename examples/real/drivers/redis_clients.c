// A redis server and threads that are its clients, in one process: main of
// server.c is server_main.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { clients = 4, rounds = 25, port = 21379 };

int server_main(int argc, char **argv);

static void *serve(void *unused) {
    char *argv[] = {"redis-server", "--port", "21379", "--bind", "127.0.0.1", "--save", "", "--io-threads", "3", "--io-threads-do-reads", "yes",
                    "--lazyfree-lazy-user-del", "yes", "--set-proc-title", "no", "--logfile", "/dev/null", NULL};
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

// ask sends lines and reads as many as there are answers.
static void ask(int fd, const char *request, char *answer, size_t room, int lines) {
    size_t n = strlen(request), got = 0;
    if (write(fd, request, n) != (ssize_t)n) {
        perror("write");
        exit(1);
    }
    while (lines > 0) {
        ssize_t more = read(fd, answer + got, room - 1 - got);
        if (more <= 0) {
            perror("read");
            exit(1);
        }
        for (ssize_t i = 0; i < more; i++)
            lines -= answer[got + i] == '\n';
        got += more;
        answer[got] = 0;
    }
}

static void *client(void *arg) {
    long id = (long)arg, good = 0;
    char request[8000], answer[4000], want[100];
    int fd = dial();
    for (int i = 0; i < rounds; i++) {
        snprintf(want, sizeof want, "value-%ld-of-%d", id, i);
        snprintf(request, sizeof request, "SET key-%ld-%d %s\r\n", id, i % 7, want);
        ask(fd, request, answer, sizeof answer, 1);
        good += strcmp(answer, "+OK\r\n") == 0;
        snprintf(request, sizeof request, "GET key-%ld-%d\r\n", id, i % 7);
        ask(fd, request, answer, sizeof answer, 2);
        good += strstr(answer, want) != NULL;
        ask(fd, "INCR total\r\n", answer, sizeof answer, 1);
        if (i % 8 == 7) { // a set that is large enough to be freed by another thread
            int n = snprintf(request, sizeof request, "SADD set-%ld", id);
            for (int j = 0; j < 200; j++)
                n += snprintf(request + n, sizeof request - n, " member-%d", j);
            snprintf(request + n, sizeof request - n, "\r\nDEL set-%ld\r\n", id);
            ask(fd, request, answer, sizeof answer, 2);
            good += strcmp(answer, ":200\r\n:1\r\n") == 0;
        }
    }
    close(fd);
    return (void *)good;
}

int main(void) {
    pthread_t server, t[clients];
    char total[100];
    pthread_create(&server, NULL, serve, NULL);
    close(dial());
    for (long i = 0; i < clients; i++)
        pthread_create(&t[i], NULL, client, (void *)i);
    for (int i = 0; i < clients; i++) {
        void *good;
        pthread_join(t[i], &good);
        printf("client %d: %ld of %d good\n", i, (long)good, 2 * rounds + rounds / 8);
    }
    ask(dial(), "GET total\r\n", total, sizeof total, 2);
    printf("total %s", strchr(total, '\n') + 1);
    fflush(stdout);
    _exit(0);
}
