// Calls of every kind, with a record of who is active. probe() prints the
// record, innermost first, and writes to hit: the call stack of the n-th such
// write must be the n-th line. A name with ~ is of a function whose frame a
// tail call may have replaced.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))

static const char *chain[8192];
static int depth, thread;
volatile int hit;

struct Scope {
  explicit Scope(const char *name) { chain[depth++] = name; }
  ~Scope() { depth--; }
};

extern "C" NOINLINE void probe() {
  printf("stack %d", thread);
  for (int i = depth; i > 0; i--)
    printf(" %s", chain[i - 1]);
  printf("\n");
  hit = hit + 1;
}

namespace calls {

template <typename T> NOINLINE T deep(T n) {
  Scope s("calls::deep<int>");
  if (n == 0) {
    probe();
    return 0;
  }
  T r = deep(n - 1) + 1;
  if (n % 700 == 0)
    probe();
  return r;
}

struct Shape {
  virtual ~Shape() {}
  virtual int area(int n) = 0;
};

struct Square : Shape {
  int side = 3;
  NOINLINE int area(int n) override {
    Scope s("calls::Square::area");
    probe();
    return side * n;
  }
};

__attribute__((always_inline)) inline int inlined(int n) {
  Scope s("calls::inlined");
  probe();
  return n + 1;
}

NOINLINE int outer(int n) {
  Scope s("calls::outer");
  n = inlined(n) * 2;
  probe();
  return n;
}

NOINLINE int even(int n);
NOINLINE int odd(int n) {
  Scope s("calls::odd");
  if (n == 1)
    probe();
  return n == 0 ? 0 : even(n - 1) + 1;
}
int even(int n) {
  Scope s("calls::even");
  if (n == 0)
    probe();
  return n == 0 ? 1 : odd(n - 1) + 1;
}

} // namespace calls

// Without anything to do after the call, it becomes a jump when optimised.
extern "C" NOINLINE int tail_last(int n) {
  chain[depth++] = "tail_last";
  probe();
  depth -= 3;
  return n * 7;
}
extern "C" NOINLINE int tail_middle(int n) {
  chain[depth++] = "~tail_middle";
  return tail_last(n + hit);
}
extern "C" NOINLINE int tail_first(int n) {
  chain[depth++] = "~tail_first";
  return tail_middle(n ^ 5);
}
extern "C" NOINLINE int tail_caller(int n) {
  Scope s("tail_caller");
  int r = tail_first(n) + 1;
  probe();
  return r;
}

static jmp_buf env;
extern "C" NOINLINE void jumper(int n) {
  Scope s("jumper");
  if (n == 0) {
    probe();
    longjmp(env, 1);
  }
  jumper(n - 1);
  hit = hit + 0 * n;
}
extern "C" NOINLINE void jumped() {
  Scope s("jumped");
  volatile int saved = depth;
  if (setjmp(env) == 0)
    jumper(40);
  depth = saved;
  probe();
}

struct Teller {
  NOINLINE ~Teller() {
    Scope s("Teller::~Teller");
    probe();
  }
};
extern "C" NOINLINE void thrower(int n) {
  Scope s("thrower");
  Teller t;
  if (n == 0)
    throw std::runtime_error("thrown");
  thrower(n - 1);
}
extern "C" NOINLINE void catcher() {
  Scope s("catcher");
  try {
    thrower(3);
  } catch (const std::runtime_error &) {
    probe();
  }
  probe();
}

extern "C" void on_signal(int) {
  Scope s("on_signal");
  probe();
}
extern "C" NOINLINE void signalled(int n) {
  Scope s("signalled");
  if (n > 0)
    signalled(n - 1);
  else
    raise(SIGUSR1);
  probe();
}

static sigjmp_buf escape;
extern "C" void on_escape(int) {
  Scope s("on_escape");
  probe();
  siglongjmp(escape, 1);
}
extern "C" NOINLINE void escaped() {
  Scope s("escaped");
  volatile int saved = depth;
  if (sigsetjmp(escape, 1) == 0)
    raise(SIGUSR2);
  depth = saved;
  probe();
}

static volatile long sink;
extern "C" NOINLINE void far_away() {
  Scope s("far_away");
  for (int i = 0; i < 300000; i++)
    sink = sink + i;
  probe();
}

extern "C" void everything() {
  Scope s("everything");
  calls::deep(2500);
  calls::Square square;
  calls::Shape *volatile shape = &square;
  shape->area(4);
  calls::outer(3);
  calls::odd(9);
  tail_caller(2);
  jumped();
  catcher();
  signalled(5);
  escaped();
  far_away();
  jumped();
  probe();
}

extern "C" void *worker(void *) {
  thread = 1;
  Scope s("worker");
  everything();
  return nullptr;
}

int main() {
  signal(SIGUSR1, on_signal);
  signal(SIGUSR2, on_escape);
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  {
    Scope s("main");
    everything();
  }
  pthread_t t;
  pthread_create(&t, nullptr, worker, nullptr);
  pthread_join(t, nullptr);
}
