// An LRU cache under one lock whose values outlive their eviction.
#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

class Cache {
	using Value = std::shared_ptr<const std::string>;
	using Entry = std::pair<int, Value>;
	std::mutex lock;
	std::list<Entry> order; // the most recently used first
	std::unordered_map<int, std::list<Entry>::iterator> at;
	const size_t room;
	int misses = 0;

public:
	explicit Cache(size_t room) : room(room) {}

	Value get(int key)
	{
		std::lock_guard hold(lock);
		if (auto found = at.find(key); found != at.end()) {
			order.splice(order.begin(), order, found->second);
			return found->second->second;
		}
		misses++;
		order.emplace_front(key, std::make_shared<const std::string>("value of " + std::to_string(key)));
		at[key] = order.begin();
		if (order.size() > room) {
			at.erase(order.back().first);
			order.pop_back();
		}
		return order.front().second;
	}

	bool missed()
	{
		std::lock_guard hold(lock);
		return misses > 0;
	}
};

int main()
{
	Cache cache(4);
	std::vector<std::thread> threads;
	std::vector<size_t> length(3);

	for (int t = 0; t < 3; t++)
		threads.emplace_back([&cache, &length, t] {
			for (int i = 0; i < 12; i++)
				length[t] += cache.get((i * (t + 1)) % 7)->size();
		});
	for (auto &t : threads)
		t.join();
	std::printf("%zu characters, missed: %d\n", length[0] + length[1] + length[2], cache.missed());
	return 0;
}
