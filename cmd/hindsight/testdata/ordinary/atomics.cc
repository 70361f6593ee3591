#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
struct Node {
	int v;
	Node *next;
};
static std::atomic<Node *> top[8];
static std::atomic<long> pushed, popped;
static std::atomic<int> ready;
struct Ring {
	std::atomic<unsigned> head{0}, tail{0};
	int slot[256];
	bool put(int x)
	{
		unsigned t = tail.load(std::memory_order_relaxed);
		if (t - head.load(std::memory_order_acquire) == 256)
			return false;
		slot[t & 255] = x;
		tail.store(t + 1, std::memory_order_release);
		return true;
	}
	bool get(int &x)
	{
		unsigned h = head.load(std::memory_order_relaxed);
		if (h == tail.load(std::memory_order_acquire))
			return false;
		x = slot[h & 255];
		head.store(h + 1, std::memory_order_release);
		return true;
	}
};
static Ring rings[4];
int main(int c, char **v)
{
	int n = c > 1 ? atoi(v[1]) : 60000;
	std::vector<std::thread> ts;
	for (int t = 0; t < 4; t++)
		ts.emplace_back([=] {
			ready.fetch_add(1);
			while (ready.load(std::memory_order_acquire) < 4)
				std::this_thread::yield();
			unsigned x = t + 1;
			long sum = 0;
			for (int i = 0; i < n; i++) {
				x = x * 1664525u + 1013904223u;
				auto &s = top[x >> 20 & 7];
				Node *d = new Node{i, nullptr};
				d->next = s.load(std::memory_order_relaxed);
				while (!s.compare_exchange_weak(d->next, d,
								std::memory_order_release,
								std::memory_order_relaxed)) {
				}
				pushed.fetch_add(1, std::memory_order_relaxed);
				for (int tries = 0; tries < 4 && !rings[t].put(i); tries++) {
					int y;
					if (rings[(t + 3) & 3].get(y))
						sum += y;
					else
						std::this_thread::yield();
				}
				int y;
				if (rings[(t + 3) & 3].get(y))
					sum += y;
			}
			popped += sum;
		});
	for (auto &t : ts)
		t.join();
	printf("%ld %ld\n", pushed.load(), popped.load());
}
