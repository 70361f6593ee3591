// Frames that are left by other means than their return, with a record of who
// is active. probe() prints the record, innermost first, and writes to hit: the
// call stack of the thread's n-th such write must be its n-th line. A name with
// ~ is of a function whose frame a tail call may have replaced.
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct Record {
  const char *name[8192];
  int depth;
};

static thread_local Record own;
static thread_local Record *record = &own;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;
volatile int hit;

struct Scope {
  explicit Scope(const char *name) { record->name[record->depth++] = name; }
  ~Scope() { record->depth--; }
};

extern "C" NOINLINE void probe() {
  static thread_local char line[1 << 17];
  int n = sprintf(line, "stack %ld", syscall(SYS_gettid) - getpid());
  for (int i = record->depth; i > 0; i--)
    n += sprintf(line + n, " %s", record->name[i - 1]);
  line[n++] = '\n';
  pthread_mutex_lock(&printing);
  fwrite(line, 1, n, stdout);
  pthread_mutex_unlock(&printing);
  hit = hit + 1;
}

// Prints when it is destroyed: from landing pads.
struct Teller {
  NOINLINE ~Teller() {
    Scope s("Teller::~Teller");
    probe();
  }
};

namespace exceptions {

// Each level catches, prints and throws on.
NOINLINE void rethrow(int n) {
  Scope s("exceptions::rethrow");
  Teller t;
  try {
    if (n == 0)
      throw std::string("deep");
    rethrow(n - 1);
  } catch (const std::string &) {
    probe();
    throw;
  }
}

// A handler that throws another, and catches one meanwhile.
NOINLINE void leaf(int n) {
  Scope s("exceptions::leaf");
  if (n > 0)
    leaf(n - 1);
  throw n;
}
NOINLINE void nested() {
  Scope s("exceptions::nested");
  try {
    try {
      leaf(3);
    } catch (int) {
      probe();
      try {
        leaf(2);
      } catch (int) {
        probe();
      }
      probe();
      throw std::runtime_error("other");
    }
  } catch (const std::exception &) {
    probe();
  }
  probe();
}

// The innermost of a chain of calls that become jumps throws.
extern "C" NOINLINE int last(int n) {
  record->name[record->depth++] = "exceptions::last";
  probe();
  record->depth -= 3;
  if (n != 0)
    throw n;
  return n;
}
extern "C" NOINLINE int middle(int n) {
  record->name[record->depth++] = "~exceptions::middle";
  return last(n + 1);
}
extern "C" NOINLINE int first(int n) {
  record->name[record->depth++] = "~exceptions::first";
  return middle(n | 6);
}
NOINLINE int tails(int n) {
  Scope s("exceptions::tails");
  Teller t;
  try {
    n += first(n);
  } catch (int x) {
    probe();
    n += x;
  }
  probe();
  return n;
}

// A landing pad just behind a call that does not return, with the same
// function on the stack several times.
NOINLINE void behind(int n) {
  Scope s("exceptions::behind");
  if (n > 0) {
    try {
      behind(n - 1);
    } catch (const char *) {
      probe();
    }
    Teller t;
    if (n % 2 == 1)
      throw "again";
  }
  throw "behind";
}

NOINLINE void room(int n) {
  Scope s("exceptions::room");
  volatile char *p = static_cast<char *>(alloca(n * 100 + 16));
  p[0] = 1;
  Teller t;
  try {
    volatile char *q = static_cast<char *>(alloca(n * 50 + 16));
    q[0] = 1;
    if (n == 0)
      throw 1L;
    room(n - 1);
  } catch (long) {
    probe();
    if (n < 3)
      throw;
  }
}

void all() {
  Scope s("exceptions::all");
  try {
    rethrow(12);
  } catch (...) {
    probe();
  }
  nested();
  tails(1);
  try {
    behind(5);
  } catch (...) {
    probe();
  }
  room(5);
  for (int i = 0; i < 50; i++) { // the same again, for a repetitive grammar
    try {
      leaf(i % 7);
    } catch (int) {
    }
  }
  probe();
}

} // namespace exceptions

namespace jumps {

static thread_local jmp_buf env;

NOINLINE void down(int n, int value) {
  Scope s("jumps::down");
  volatile char *p = static_cast<char *>(alloca(n * 40 + 16));
  p[0] = 1;
  if (n == 0)
    longjmp(env, value);
  down(n - 1, value);
  p[0] = 2;
}

NOINLINE void again() {
  Scope s("jumps::again");
  volatile int saved = record->depth, times = 0;
  int got = setjmp(env);
  record->depth = saved;
  probe();
  times = times + 1;
  if (times < 6)
    down(times * 3, times);
  hit = hit + 0 * got;
}

// The same function as the one that jumps is on the stack below.
NOINLINE void mixed(int n) {
  Scope s("jumps::mixed");
  if (n == 4) {
    volatile int saved = record->depth;
    if (setjmp(env) == 0)
      mixed(n - 1);
    record->depth = saved;
    probe();
    return;
  }
  if (n == 0)
    longjmp(env, 1);
  mixed(n - 1);
  probe();
}

static sigjmp_buf escape;
extern "C" void on_alt(int) {
  Scope s("jumps::on_alt");
  probe();
  try {
    exceptions::leaf(2);
  } catch (int) {
    probe();
  }
  siglongjmp(escape, 1);
}
extern "C" void on_alt_return(int) {
  Scope s("jumps::on_alt_return");
  probe();
}
NOINLINE void alternate() {
  Scope s("jumps::alternate");
  stack_t st = {};
  st.ss_size = 1 << 16;
  st.ss_sp = malloc(st.ss_size);
  sigaltstack(&st, nullptr);
  struct sigaction sa = {};
  sa.sa_handler = on_alt;
  sa.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGUSR1, &sa, nullptr);
  sa.sa_handler = on_alt_return;
  sigaction(SIGUSR2, &sa, nullptr);
  volatile int saved = record->depth;
  for (volatile int i = 0; i < 3; i = i + 1) {
    if (sigsetjmp(escape, 1) == 0)
      raise(SIGUSR1);
    record->depth = saved;
    probe();
    raise(SIGUSR2);
    probe();
  }
}

void all() {
  Scope s("jumps::all");
  again();
  mixed(7);
  alternate();
  probe();
}

} // namespace jumps

namespace contexts {

static ucontext_t home, side[3];
static Record records[3], *home_record;
static int next_side;

NOINLINE void hand_over(int from, int to) {
  Scope s("contexts::hand_over");
  probe();
  record = &records[to];
  swapcontext(&side[from], &side[to]);
  probe();
}
NOINLINE void nest(int self, int n) {
  Scope s("contexts::nest");
  if (n > 0)
    nest(self, n - 1);
  else
    hand_over(self, (self + 1) % 3);
  try {
    exceptions::leaf(1);
  } catch (int) {
    probe();
  }
}
extern "C" void coroutine() {
  int self = next_side++;
  Scope s("contexts::coroutine");
  probe();
  for (int i = 0; i < 3; i++)
    nest(self, self + i);
  probe();
  record->depth--;
  record = home_record;
  setcontext(&home);
}

void all() {
  Scope s("contexts::all");
  home_record = record;
  // Stacks next to one another, in both orders.
  static char stack[3][1 << 16];
  const int place[3] = {1, 0, 2};
  for (int i = 0; i < 3; i++) {
    getcontext(&side[i]);
    side[i].uc_stack.ss_sp = stack[place[i]];
    side[i].uc_stack.ss_size = sizeof stack[0];
    makecontext(&side[i], coroutine, 0);
  }
  probe();
  record = &records[0];
  volatile int times = 0;
  swapcontext(&home, &side[0]);
  probe();
  times = times + 1;
}

} // namespace contexts

namespace ends {

static sem_t ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

extern "C" void clean(void *) {
  Scope s("ends::clean");
  probe();
}

NOINLINE void leaves(int n) {
  Scope s("ends::leaves");
  Teller t;
  if (n == 0)
    pthread_exit(nullptr);
  leaves(n - 1);
  probe();
}
extern "C" void *exits(void *) {
  Scope s("ends::exits");
  probe();
  Teller t;
  leaves(4);
  return nullptr;
}

NOINLINE void waits(int n) {
  Scope s("ends::waits");
  Teller t;
  if (n == 0) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, nullptr);
    sem_post(&ready);
    for (;;)
      pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
  }
  waits(n - 1);
  probe();
}
extern "C" void *cancelled(void *) {
  Scope s("ends::cancelled");
  try {
    waits(3);
  } catch (...) {
    probe();
    throw;
  }
  return nullptr;
}

static volatile long work;
extern "C" NOINLINE void loops() {
  Scope s("ends::loops");
  Teller t;
  sem_post(&ready);
  for (;;) {
    work = work + 1;
    pthread_testcancel();
  }
}
extern "C" void *tested(void *) {
  Scope s("ends::tested");
  loops();
  return nullptr;
}

void all() {
  Scope s("ends::all");
  sem_init(&ready, 0, 0);
  pthread_t t;
  pthread_create(&t, nullptr, exits, nullptr);
  pthread_join(t, nullptr);
  pthread_create(&t, nullptr, cancelled, nullptr);
  sem_wait(&ready);
  pthread_cancel(t);
  pthread_join(t, nullptr);
  pthread_create(&t, nullptr, tested, nullptr);
  sem_wait(&ready);
  pthread_cancel(t);
  pthread_join(t, nullptr);
  probe();
}

} // namespace ends

namespace tasks {

NOINLINE void work(int n) {
  Scope s("tasks::work");
  Teller t;
  if (n == 0)
    throw std::runtime_error("task");
  work(n - 1);
}

void all() {
#pragma omp parallel num_threads(2)
  {
    int before = record->depth;
    record->depth = 0; // only what a task does itself is compared
#pragma omp for
    for (int i = 0; i < 6; i++) {
#pragma omp task
      {
        Record *r = record;
        int depth = r->depth;
        r->name[r->depth++] = "...";
        try {
          work(i % 3);
        } catch (const std::exception &) {
          probe();
        }
        r->depth = depth;
      }
    }
    record->depth = before;
  }
}

} // namespace tasks

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  Scope s("main");
  exceptions::all();
  jumps::all();
  contexts::all();
  ends::all();
  probe();
  tasks::all();
}
