int shared; __thread int t; struct s { int a; long b[4]; } g;
static inline __attribute__((always_inline)) int inl(int x){ g.b[x&3]+=x; return shared+x; }
__attribute__((noinline)) int work(int x){ t++; return inl(x)*inl(x+1); }
void _start(void){ work(3); __asm__ volatile("li a7,93; li a0,0; ecall"); for(;;); }
