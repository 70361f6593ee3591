/* Locals that lambdas capture by reference and other threads use. */
#include <cstdio>
#include <thread>
#include <vector>

class Cache {
	int capacity_ = 3;
	long hits_ = 0;
	std::vector<int> values_;

public:
	void hit() { ++hits_; }
	long hits() const { return hits_; }
};

template <class F> static void twice(F f)
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 2; i++)
		threads.emplace_back(f);
	for (auto &t : threads)
		t.join();
}

int main()
{
	Cache cache;
	long sum = 0;
	twice([&] {
		for (int k = 0; k < 20; k++) {
			cache.hit();
			sum += k;
		}
	});
	std::printf("%ld %ld\n", cache.hits(), sum);
	return 0;
}
