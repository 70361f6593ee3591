// Threads that count words in a map without its lock for sizes and totals: a
// C++ program with several races, some of them consequences of others.
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::map<std::string, int> counts;
static std::vector<std::string> recent(64);
static unsigned long total, next_slot;
static const std::string *longest;
static bool done;

static void count(int self) {
	for (int i = 0; i < 300 && !done; i++) {
		std::string word = "word" + std::to_string((i * 7 + self * 13) % 97);
		{
			std::lock_guard<std::mutex> hold(lock);
			auto it = counts.try_emplace(word, 0).first;
			it->second++;
			if (!longest || longest->size() < it->first.size())
				longest = &it->first;
		}
		total += word.size();
		recent[next_slot++ % recent.size()].assign(word, 0, 4);
		if (longest->size() > 5 && i == 250 && self == 3)
			done = true;
	}
}

int main() {
	std::vector<std::thread> all;
	for (int i = 0; i < 4; i++)
		all.emplace_back(count, i);
	for (auto &t : all)
		t.join();
	return total == 0;
}
