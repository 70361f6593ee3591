/* LU decomposition without pivoting. */
#include <stdio.h>
#include <stdlib.h>
static double a[300][300];
int main(int c,char**v){int n=c>1?atoi(v[1]):256;
  for(int i=0;i<n;i++)for(int j=0;j<n;j++)a[i][j]=(i*7+j*13)%101+(i==j?1000:0);
 for(int k=0;k<n;k++)for(int i=k+1;i<n;i++){double f=a[i][k]/a[k][k];a[i][k]=f;
  for(int j=k+1;j<n;j++)a[i][j]-=f*a[k][j];}
 double s=0;
  for(int i=0;i<n;i++)s+=a[i][i];printf("%.10g\n",s);return 0;}
