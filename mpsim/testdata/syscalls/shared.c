#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[60];

static void mapped(const char *what, int fd)
{
	printf("%s\n", what);
	if (fd < 0) {
		printf("%s\n", strerror(errno));
		return;
	}
	printf("size %d", ftruncate(fd, 3 * 4096 + 100));
	struct stat st;
	fstat(fd, &st);
	printf(" %ld\n", (long)st.st_size);
	char *a = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *b = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
	if (a == MAP_FAILED || b == MAP_FAILED || p == MAP_FAILED) {
		printf("mmap: %s\n", strerror(errno));
		return;
	}
	strcpy(a + 4096, "stored through the first mapping");
	printf("second: %s\n", b);
	strcpy(p, "private");
	char in[40] = "";
	printf("read %zd: %s\n", pread(fd, in, sizeof in, 4096), in);
	printf("write %zd\n", pwrite(fd, "WRITTEN", 7, 4096 + 11));
	printf("first: %s, second: %s, private: %s\n", a + 4096, b, p);
	printf("msync %d\n", msync(a, 4096, MS_SYNC));
	munmap(a, 4 * 4096);
	munmap(b, 4096);
	a = mmap(0, 2 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	printf("again: %s\n", a + 4096);
	munmap(a, 2 * 4096);
	munmap(p, 4096);
	close(fd);
}

static sem_t *sem;
static int *counter;

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++) {
		sem_wait(sem);
		++*counter;
		sem_post(sem);
	}
	return arg;
}

int main(void)
{
	sprintf(name, "/hindsight-%d", getpid());
	mapped("memfd", memfd_create("mine", MFD_CLOEXEC));
	mapped("shm", shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	printf("once more %d %s\n", fd, strerror(errno));
	char file[80];
	sprintf(file, "/tmp%s", name);
	mapped("file", open(file, O_RDWR | O_CREAT | O_TRUNC, 0600));
	printf("unlink %d\n", unlink(file));

	fd = shm_open(name, O_RDWR, 0);
	counter = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sem = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	if (sem == SEM_FAILED)
		printf("sem_open: %s\n", strerror(errno));
	printf("same semaphore %d\n", sem == sem_open(name, 0));
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf("counted %d\n", *counter);
	printf("close %d %d unlink %d %d\n", sem_close(sem), sem_close(sem), sem_unlink(name), sem_unlink(name));
	printf("shm_unlink %d %d\n", shm_unlink(name), shm_unlink(name));

	int w = inotify_init1(IN_NONBLOCK);
	printf("watch %d", inotify_add_watch(w, "/tmp", IN_CREATE));
	char b[100];
	printf(" nothing %zd %s\n", read(w, b, sizeof b), strerror(errno));
	return 0;
}
