// Functions left by exceptions and long jumps: what depends on a branch or a
// call of a frame that is gone must not be found in the frame that goes on.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>

static jmp_buf back;
volatile int sink;

__attribute__((noinline)) static int thrower(int n)
{
    if (n == 0)
        throw std::runtime_error("deep");
    sink = sink + n;
    return thrower(n - 1) + 1;
}

__attribute__((noinline)) static void jumper(int n)
{
    for (int i = 0; i <= n; i++) {
        if (i == n)
            longjmp(back, n);
        sink = sink + i;
    }
}

__attribute__((noinline)) static int catcher(int n)
{
    int caught = 0;
    for (int i = 1; i < n; i++) {
        try {
            caught += thrower(i);
        } catch (const std::exception &) {
            if (i % 2)
                caught += i;
        }
        if (i & 1)
            sink = sink + caught;
    }
    return caught;
}

int main(int argc, char **)
{
    int got = setjmp(back);
    if (got < 2)
        jumper(got + 1);
    std::printf("%d %d\n", got, argc > 1 ? catcher(5) : 0);
}
