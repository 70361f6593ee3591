// Standard input by getline, scanf and read.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  char *line = NULL;
  size_t cap = 0;
  for (int i = 0; i < 2; i++) {
    ssize_t n = getline(&line, &cap, stdin);
    printf("%zd %s", n, line);
  }
  int a, b;
  printf("%d", scanf("%d %d", &a, &b));
  printf(" %d\n", a * b);
  long sum = 0;
  int c;
  while ((c = getchar()) != EOF) sum = sum * 31 + c;
  char buf[8];
  printf("%ld %zd\n", sum, read(0, buf, 8));
  return 0;
}
