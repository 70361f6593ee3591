/* Arithmetic in every rounding mode, with the exception flags. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static uint64_t seed = 88172645463325252ULL;
static uint64_t next(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }
static double d(void) {
  static const double special[] = {0.0, -0.0, 1.0, -1.5, INFINITY, -INFINITY, NAN, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740993.0, 0.1};
  uint64_t r = next();
  if ((r & 7) == 0) return special[(r >> 8) % 12];
  if ((r & 7) < 4) return (double)(int64_t)(r >> 20) / 1024.0;
  double v; r = next(); memcpy(&v, &r, 8); return v;
}
static uint64_t h;
static void mix(const void *p, int n) { const unsigned char *b = p; while (n--) h = (h ^ *b++) * 1099511628211ULL; }
#define DO(type, e) do { feclearexcept(FE_ALL_EXCEPT); volatile type v_ = (e); type w_ = v_; int fl = fetestexcept(FE_ALL_EXCEPT); mix(&w_, sizeof w_); mix(&fl, 4); } while (0)
int main(void) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  for (int m = 0; m < 4; m++) {
    fesetround(modes[m]);
    h = 14695981039346656037ULL;
    for (int i = 0; i < 700; i++) {
      volatile double a = d(), b = d(), c = d();
      volatile float x = (float)a, y = (float)b, z = (float)c;
      DO(double, a + b); DO(double, a - b); DO(double, a * b); DO(double, a / b); DO(double, sqrt(a)); DO(double, fma(a, b, c));
      DO(double, -fma(a, b, c)); DO(double, fma(-a, b, c));
      DO(float, x + y); DO(float, x - y); DO(float, x * y); DO(float, x / y); DO(float, sqrtf(x)); DO(float, fmaf(x, y, z));
      DO(double, fmin(a, b)); DO(double, fmax(a, b)); DO(float, (float)a); DO(double, (double)x);
      DO(int, a < b); DO(int, a <= b); DO(int, a == b); DO(int, x < y); DO(int, x == y);
      DO(int, (int)a); DO(long, (long)a); DO(unsigned, (unsigned)a); DO(unsigned long, (unsigned long)a);
      DO(int, (int)x); DO(long, (long)x); DO(unsigned long, (unsigned long)x);
      DO(double, (double)(int64_t)next()); DO(float, (float)(uint64_t)next()); DO(double, (double)(uint64_t)next()); DO(float, (float)(int)next());
      DO(long, lrint(a)); DO(double, rint(a)); DO(long, lround(a)); DO(double, floor(a)); DO(double, sin(a)); DO(double, exp(b));
    }
    printf("%d %016lx\n", m, h);
  }
  fesetround(FE_TONEAREST);
  printf("%.17g %a %g %Lg\n", 0.1 + 0.2, 1.0 / 3, 1e300 * 1e10, (long double)2 / 3);
  return 0;
}
