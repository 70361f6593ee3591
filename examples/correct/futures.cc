// Futures: results that are computed elsewhere, shared, passed on and thrown.
#include <cstdio>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

static long sum(const std::vector<int> &v, size_t from, size_t to)
{
	if (to - from <= 50)
		return std::accumulate(v.begin() + from, v.begin() + to, 0L);
	size_t middle = (from + to) / 2;
	auto left = std::async(std::launch::async, [&] { return sum(v, from, middle); });
	long right = sum(v, middle, to);
	return left.get() + right;
}

static int checked(int n)
{
	if (n % 2)
		throw std::runtime_error("odd " + std::to_string(n));
	return n / 2;
}

int main()
{
	std::vector<int> v(200);
	std::iota(v.begin(), v.end(), 1);
	std::printf("sum %ld\n", sum(v, 0, v.size()));

	auto text = std::make_unique<std::string>("a message");
	std::promise<std::unique_ptr<std::string>> to;
	auto from = to.get_future();
	std::thread sender([&to, text = std::move(text)]() mutable {
		text->append(", signed");
		to.set_value(std::move(text));
	});
	std::printf("%s\n", from.get()->c_str());
	sender.join();

	std::promise<int> start;
	std::shared_future<int> go = start.get_future().share();
	std::vector<std::future<int>> each;
	for (int i = 0; i < 3; i++)
		each.push_back(std::async(std::launch::async, [go, i] { return go.get() + i; }));
	start.set_value(10);
	int total = 0;
	for (auto &f : each)
		total += f.get();
	std::printf("total %d\n", total);

	std::packaged_task<int(int)> task(checked);
	auto result = task.get_future();
	std::thread runner(std::move(task), 7);
	try {
		result.get();
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
	}
	runner.join();
	return 0;
}
