#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>
struct Doc {
	int id;
	std::string text;
	long hits = 0;
	std::mutex m;
	Doc(int i) : id(i), text("document " + std::to_string(i))
	{
	}
};
class Store
{
	std::mutex m;
	std::map<int, std::shared_ptr<Doc>> docs;

      public:
	std::shared_ptr<Doc> get(int k)
	{
		std::lock_guard<std::mutex> l(m);
		auto it = docs.find(k);
		if (it == docs.end())
			return nullptr;
		return it->second;
	}
	void put(int k)
	{
		auto d = std::make_shared<Doc>(k);
		std::lock_guard<std::mutex> l(m);
		docs[k] = d;
	}
	void drop(int k)
	{
		std::lock_guard<std::mutex> l(m);
		docs.erase(k);
	}
	size_t size()
	{
		std::lock_guard<std::mutex> l(m);
		return docs.size();
	}
};
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20000;
	Store s;
	std::vector<std::thread> ts;
	long found[4] = {};
	for (int t = 0; t < 4; t++)
		ts.emplace_back([&, t] {
			unsigned x = t + 1;
			long f = 0;
			for (int i = 0; i < n; i++) {
				x = x * 1103515245u + 12345u;
				int k = x >> 16 & 1023;
				switch (x >> 28 & 7) {
				case 0:
					s.put(k);
					break;
				case 1:
					s.drop(k);
					break;
				default:
					if (auto d = s.get(k)) {
						std::lock_guard<std::mutex> l(d->m);
						d->hits += d->text.size();
						f++;
					}
				}
			}
			found[t] = f;
		});
	for (auto &t : ts)
		t.join();
	printf("%zu docs, %ld found\n", s.size(), found[0] + found[1] + found[2] + found[3]);
}
