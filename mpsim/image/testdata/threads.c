#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
struct acct { long id; int balance; struct { char name[8]; int hits; } in[3]; };
struct acct account; struct acct grid[4][5]; static int counter; __thread int tl; __thread struct acct tacc;
static inline int add(int a,int b){ counter+=a; return a*b+counter; }
static void *worker(void*p){ for(int i=0;i<10;i++){ account.balance+=add(i,(long)p); tl++;} return 0;}
int choose(int x){ switch(x){case 0:return 5;case 1: puts("a"); break; case 2: puts("b"); break; case 3: puts("c");break;case 4:return 7;case 5:puts("e");break; case 9: puts("z");} return 0;}
int main(int c,char**v){ pthread_t t; pthread_create(&t,0,worker,(void*)3L); pthread_join(t,0); printf("%d %d\n",account.balance,choose(c)); grid[1][2].in[2].hits=c; return tacc.balance; }
