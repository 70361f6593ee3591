// Message queues of POSIX and System V, semaphores and shared memory of System V.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

static mqd_t posix;
static int set, queue;
static char *memory;

static const char *name(void)
{
	static char text[40];
	snprintf(text, sizeof text, "/test-%d", (int)getpid());
	return text;
}

static void *consumer(void *unused)
{
	char b[64];
	unsigned priority;
	for (int i = 0; i < 3; i++) {
		int n = mq_receive(posix, b, sizeof b, &priority);
		printf("mq: %d %.*s %u\n", n, n, b, priority);
	}
	struct sembuf down = {0, -2, 0};
	printf("semop %d\n", semop(set, &down, 1));
	printf("memory %s\n", memory);
	struct { long type; char text[32]; } m;
	for (int i = 0; i < 2; i++) {
		int n = msgrcv(queue, &m, sizeof m.text, i == 0 ? 3 : -5, 0);
		printf("msgrcv %d %ld %.*s\n", n, m.type, n, m.text);
	}
	return unused;
}

static void queues(void)
{
	struct mq_attr a = {.mq_maxmsg = 4, .mq_msgsize = 64}, got;
	posix = mq_open(name(), O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	printf("mq_open %d\n", posix >= 0);
	printf("again %d %d\n", mq_open(name(), O_RDWR | O_CREAT | O_EXCL, 0600, &a), errno == EEXIST);
	printf("none %d %d\n", mq_open("/none-of-these", O_RDWR), errno == ENOENT);
	mq_getattr(posix, &got);
	printf("attr %ld %ld %ld\n", got.mq_maxmsg, got.mq_msgsize, got.mq_curmsgs);
	printf("long %d %d\n", mq_send(posix, "x", 65, 0), errno == EMSGSIZE);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	char b[64];
	printf("late %d %d\n", (int)mq_timedreceive(posix, b, sizeof b, 0, &soon), errno == ETIMEDOUT);
	printf("short %d %d\n", (int)mq_receive(posix, b, 10, 0), errno == EMSGSIZE);
	mq_send(posix, "low", 3, 1);
	mq_send(posix, "high", 4, 9);
	mq_send(posix, "low2", 4, 1);
	mq_getattr(posix, &got);
	printf("%ld messages\n", got.mq_curmsgs);
	struct pollfd p = {posix, POLLIN | POLLOUT, 0};
	printf("poll %d %d\n", poll(&p, 1, 0), p.revents);
	got.mq_flags = O_NONBLOCK;
	mq_setattr(posix, &got, 0);
	mq_send(posix, "four", 4, 0);
	printf("full %d %d\n", mq_send(posix, "five", 4, 0), errno == EAGAIN);
	got.mq_flags = 0;
	mq_setattr(posix, &got, 0);
}

static void semaphores(void)
{
	set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
	memory = shmat(shmget(IPC_PRIVATE, 5000, IPC_CREAT | 0600), 0, 0);
	queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	printf("made %d %d %d\n", set >= 0, memory != (void *)-1, queue >= 0);
	struct sembuf now[2] = {{0, 1, 0}, {1, -1, IPC_NOWAIT}}, bad = {2, 1, 0};
	printf("none or all %d %d, %d\n", semop(set, now, 2), errno == EAGAIN, semctl(set, 0, GETVAL));
	printf("number %d %d\n", semop(set, &bad, 1), errno == EFBIG);
	struct timespec soon = {0, 1000000};
	struct sembuf down = {0, -1, 0}, zero = {1, 0, 0};
	printf("late %d %d\n", semtimedop(set, &down, 1, &soon), errno == EAGAIN);
	printf("zero %d\n", semop(set, &zero, 1));
	printf("setval %d, %d\n", semctl(set, 1, SETVAL, 5), semctl(set, 1, GETVAL));
	unsigned short all[2];
	semctl(set, 0, GETALL, all);
	struct semid_ds ds;
	semctl(set, 0, IPC_STAT, &ds);
	printf("all %d %d of %lu\n", all[0], all[1], (unsigned long)ds.sem_nsems);
}

int main(void)
{
	queues();
	semaphores();
	pthread_t t;
	pthread_create(&t, 0, consumer, 0);
	strcpy(memory, "shared");
	struct sembuf up = {0, 2, 0};
	semop(set, &up, 1);
	struct { long type; char text[32]; } m = {2, "two"};
	int sent = msgsnd(queue, &m, 4, 0);
	m.type = 3;
	sent |= msgsnd(queue, &m, 3, 0);
	pthread_join(t, 0);
	printf("msgsnd %d\n", sent);
	printf("empty %d %d\n", (int)msgrcv(queue, &m, 8, 0, IPC_NOWAIT), errno == ENOMSG);
	m.type = 1;
	msgsnd(queue, &m, 10, 0);
	printf("big %d %d\n", (int)msgrcv(queue, &m, 2, 0, 0), errno == E2BIG);
	printf("cut %d\n", (int)msgrcv(queue, &m, 2, 0, MSG_NOERROR));
	printf("close %d %d %d\n", mq_close(posix), mq_unlink(name()), msgctl(queue, IPC_RMID, 0));
	printf("gone %d %d, %d %d\n", semctl(set, 0, IPC_RMID), semop(set, &up, 1), errno == EINVAL || errno == EIDRM, shmdt(memory));
	return 0;
}
