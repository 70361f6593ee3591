#include <stdio.h>
#include <stdlib.h>
int checked(int x){ switch(x){case 0: return 5; case 1: puts("a"); break; case 2: puts("b"); break; case 3: puts("c");break;case 4:puts("q");return 7;case 5:puts("e");break; case 9: puts("z");} return 0;}
int looped(unsigned x,int*p){ for(int i=0;i<10;i++) { switch(p[i]){case 10: p[1]++; break; case 11: p[2]=p[3]*x; break; case 12: p[7]-=3; break; case 13: p[4]^=1; puts("u"); break;case 14:p[0]=i; break; case 15: x+=9; continue; default: p[6]++; } x*=3; } return x;}
int masked(unsigned char x, int y){ switch(x&7){case 0: return y*y; case 1: puts("a"); break; case 2: puts("b"); break; case 3: return y/3;case 4:puts("q");return 7;case 5:puts("e");break; case 6: puts("z"); break; case 7: return y%11;} return 0;}
int table(int *pc,int n){ static void*t[]={&&l0,&&l1,&&l2,&&l3}; int acc=0; goto *t[pc[0]&3]; l0: acc++; goto *t[*++pc&3]; l1: acc*=3; goto *t[*++pc&3]; l2: acc-=n; puts("k"); goto *t[*++pc&3]; l3: return acc; }
int negative(long x){ switch(x){case -3: puts("m3"); break; case -2: puts("m2"); break; case -1: puts("m1"); break; case 0: puts("0"); break; case 1: puts("1"); break; case 2: return 8; case 3: puts("3"); } return x;}
__attribute__((noinline)) int guarded(int *p){ if(!p) abort(); puts("guarded"); return *p; }
int main(int n,char**v){ int p[20]={n}; return checked(n)+looped(n,p)+masked(n,n)+table(p,n)+negative(n)+guarded(p); }
