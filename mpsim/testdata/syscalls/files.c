// stdio, descriptors, seeking, directories, temporary files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  printf("argc %d", argc);
  for (int i = 1; i < argc; i++) printf(" [%s]", argv[i]);
  printf(" HOME=%s\n", getenv("GREETING") ? getenv("GREETING") : "(none)");
  FILE *f = fopen("data/in.txt", "r");
  if (!f) { perror("fopen"); return 1; }
  char *line = NULL;
  size_t cap = 0;
  ssize_t n;
  while ((n = getline(&line, &cap, f)) > 0) printf("%zd: %s", n, line);
  printf("ftell %ld\n", ftell(f));
  fseek(f, 4, SEEK_SET);
  printf("char %c\n", fgetc(f));
  fclose(f);
  struct stat st;
  printf("stat %d size %ld mode %o\n", stat("data/in.txt", &st), (long)st.st_size, st.st_mode & S_IFMT);
  printf("none %d %s\n", stat("data/none", &st), strerror(errno));
  printf("notdir %d %s\n", open("data/in.txt/x", O_RDONLY), strerror(errno));
  printf("isdir %d %s\n", open("data", O_WRONLY), strerror(errno));
  printf("access %d %d\n", access("data/in.txt", R_OK), access("data/none", F_OK));
  int fd = open("data/in.txt", O_RDONLY);
  char a[6] = {0}, b[6] = {0};
  struct iovec v[2] = {{a, 5}, {b, 5}};
  printf("readv %zd %s %s\n", readv(fd, v, 2), a, b);
  printf("pread %zd %.5s\n", pread(fd, a, 5, 1), a);
  int d = dup(fd);
  printf("shared offset %ld %ld\n", (long)lseek(d, 0, SEEK_CUR), (long)lseek(fd, -1, SEEK_END));
  close(d);
  printf("closed %d %s\n", (int)write(d, "x", 1), strerror(errno));
  printf("readonly %d %s\n", (int)write(fd, "x", 1), strerror(errno));
  DIR *dir = opendir("data");
  struct dirent *e;
  int names = 0;
  while ((e = readdir(dir))) names += strlen(e->d_name);
  printf("names %d\n", names);
  closedir(dir);
  char name[] = "/tmp/hstXXXXXX";
  int t = mkstemp(name);
  printf("mkstemp %d\n", t >= 0);
  printf("write %d\n", (int)write(t, "0123456789", 10));
  printf("truncate %d\n", ftruncate(t, 4));
  lseek(t, 0, SEEK_SET);
  char buf[16] = {0};
  int got = read(t, buf, 16);
  printf("read %d %s\n", got, buf);
  printf("unlink %d %d\n", unlink(name), unlink(name));
  FILE *tmp = tmpfile();
  fprintf(tmp, "hello %d", 42);
  rewind(tmp);
  int x;
  printf("fscanf %d %d\n", fscanf(tmp, "hello %d", &x), x);
  printf("isatty %d %s\n", isatty(1), strerror(errno));
  fprintf(stderr, "to stderr\n");
  return 7;
}
