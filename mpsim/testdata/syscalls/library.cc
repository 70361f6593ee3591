// What libstdc++ asks of the kernel: threads, futures, exceptions, clocks,
// streams, directories, random numbers.
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

static thread_local std::map<int, std::string> local;

static int thrower(int n) {
  if (n == 0) throw std::runtime_error("deep");
  return thrower(n - 1) + 1;
}

int main(int argc, char **argv) {
  std::vector<std::thread> threads;
  std::mutex m;
  std::shared_mutex sm;
  long total = 0;
  for (int i = 0; i < 6; i++)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 100; k++) {
        local[k] = std::to_string(k * i);
        std::shared_lock r(sm);
        std::lock_guard l(m);
        total += local[k].size();
      }
      try {
        thrower(20 + i);
      } catch (const std::exception &e) {
        std::lock_guard l(m);
        total += std::string(e.what()).size();
      }
    });
  for (auto &t : threads) t.join();
  std::cout << "total " << total << "\n";

  auto f = std::async(std::launch::async, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return 17;
  });
  std::cout << "ready at once " << (f.wait_for(std::chrono::seconds(0)) == std::future_status::ready) << "\n";
  std::cout << "future " << f.get() << "\n";
  auto g = std::async(std::launch::async, [] { return thrower(3); });
  try {
    g.get();
  } catch (const std::exception &e) {
    std::cout << "thrown across threads: " << e.what() << "\n";
  }
  std::condition_variable cv;
  std::unique_lock lk(m);
  std::cout << "wait_for " << cv.wait_for(lk, std::chrono::milliseconds(2), [] { return false; }) << "\n";

  fs::path dir = fs::path("/tmp") / ("hst-" + std::to_string(std::random_device{}()));
  fs::create_directories(dir / "a" / "b");
  std::ofstream(dir / "a" / "x.txt") << "one two three";
  std::ofstream(dir / "a" / "y.txt") << std::string(10000, 'y');
  std::set<std::string> names;
  for (auto &e : fs::recursive_directory_iterator(dir)) names.insert(e.path().filename().string());
  for (auto &n : names) std::cout << n << " ";
  std::cout << fs::file_size(dir / "a" / "y.txt") << " " << fs::is_directory(dir / "a") << fs::exists(dir / "z") << "\n";
  fs::rename(dir / "a" / "x.txt", dir / "a" / "z.txt");
  std::ifstream in(dir / "a" / "z.txt");
  std::string w;
  while (in >> w) std::cout << "[" << w << "]";
  fs::resize_file(dir / "a" / "y.txt", 5);
  std::cout << fs::file_size(dir / "a" / "y.txt") << "\n";
  std::cout << "removed " << fs::remove_all(dir) << "\n";
  std::error_code ec;
  fs::create_directory("/proc/x", ec);
  std::cout << "refused " << bool(ec) << "\n";
  auto t0 = std::chrono::steady_clock::now();
  std::this_thread::sleep_until(t0 + std::chrono::microseconds(500));
  std::cout << "slept " << (std::chrono::steady_clock::now() - t0 >= std::chrono::microseconds(500)) << "\n";
  std::mt19937 rng(5);
  std::cout << rng() << " " << std::uniform_int_distribution<>(1, 6)(rng) << "\n";
  std::string line;
  while (std::getline(std::cin, line)) std::cout << "<" << line << ">";
  std::cout << std::endl;
  std::set_terminate([] { std::cout << "terminate" << std::endl; std::abort(); });
  throw 42;
}
