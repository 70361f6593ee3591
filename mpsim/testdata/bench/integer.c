/* A busy loop of integer work on a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned tab[65536];
int main(int c,char**v){unsigned n=c>1?atoi(v[1]):60;unsigned long h=1469598103934665603UL;
 for(unsigned r=0;r<n;r++) for(unsigned i=0;i<65536;i++){
    unsigned k=(h>>7)&65535; if(tab[k]&1) h^=tab[k]+i; else h+=i*3; tab[k]=tab[(k+1)&65535]+(unsigned)h; h*=1099511628211UL;}

  printf("%lx\n",h);return 0;}
