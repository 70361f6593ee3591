/* A consumer that is told before the data is there.
 *
 *   question: --at stdout:rate
 *   defect: 36
 */
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex m;
static std::condition_variable cv;
static bool ready;
static long rate = 1;
static long answer;

static long compute(long base) {
    long r = 0;
    for (int i = 0; i < 2000; i++)
        r = (r + base) % 1009;
    return r;
}

static void consumer() {
    std::unique_lock<std::mutex> l(m);
    cv.wait(l, [] { return ready; });
    l.unlock();
    answer = rate * 3;
}

static void producer() {
    std::unique_lock<std::mutex> l(m);
    ready = true;
    cv.notify_one();
    l.unlock();
    rate = compute(17); /* the defect: after the consumer was told */
}

int main() {
    std::thread c(consumer), p(producer);
    c.join();
    p.join();
    std::printf("rate %ld\n", answer);
}
