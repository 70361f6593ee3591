// A logger: threads hand lines over, one thread writes them in batches.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Logger {
	std::mutex lock;
	std::condition_variable some;
	std::vector<std::string> lines;
	bool closing = false;
	size_t written = 0, batches = 0; // of the writer
	std::thread writer{[this] { write(); }};

	void write()
	{
		std::vector<std::string> batch;
		std::unique_lock hold(lock);
		while (!closing || !lines.empty()) {
			some.wait(hold, [this] { return closing || !lines.empty(); });
			batch.swap(lines);
			hold.unlock();
			for (auto &line : batch)
				written += line.size();
			batches += !batch.empty();
			batch.clear();
			hold.lock();
		}
	}

public:
	void log(std::string line)
	{
		{
			std::lock_guard hold(lock);
			lines.push_back(std::move(line));
		}
		some.notify_one();
	}

	size_t close()
	{
		{
			std::lock_guard hold(lock);
			closing = true;
		}
		some.notify_one();
		writer.join();
		return written;
	}
};

int main()
{
	Logger logger;
	std::vector<std::thread> threads;

	for (int t = 0; t < 3; t++)
		threads.emplace_back([&logger, t] {
			for (int i = 0; i < 8; i++)
				logger.log("thread " + std::to_string(t) + " line " + std::to_string(i));
		});
	for (auto &t : threads)
		t.join();
	std::printf("%zu characters\n", logger.close());
	return 0;
}
