/* C++: what synchronises inside the library, and objects that end with their memory. */
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <locale>
#include <memory>
#include <mutex>
#include <regex>
#include <semaphore>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "pair.h"

using namespace std::chrono_literals;

static std::mutex guard;

/*
 * around writes x in two threads, in one before a call and in the other, later,
 * after it. The call orders nothing.
 */
static void around(int broken, volatile int &x, const std::function<void()> &call)
{
	auto write = [&](int v) {
		if (broken) {
			x = v;
			return;
		}
		std::lock_guard<std::mutex> held(guard);
		x = v;
	};
	std::thread a([&] { write(1); call(); });
	std::thread b([&] { std::this_thread::sleep_for(3ms); call(); write(2); });
	a.join();
	b.join();
	puts("done");
}

static volatile int hidden_cout_x;
PAIR(hidden_cout, "std::cout: orders nothing")
{
	around(broken, hidden_cout_x, [] { std::cout << "" << std::flush; });
}

static volatile int hidden_ostringstream_x;
PAIR(hidden_ostringstream, "a std::ostringstream of each thread: orders nothing")
{
	around(broken, hidden_ostringstream_x, [] { std::ostringstream o; o << 5; });
}

static volatile int hidden_exception_x;
PAIR(hidden_exception, "throw and catch: orders nothing")
{
	around(broken, hidden_exception_x, [] { try { throw std::runtime_error("text"); } catch (std::exception &) { } });
}

static volatile int hidden_locale_x;
PAIR(hidden_locale, "std::locale of each thread: orders nothing")
{
	around(broken, hidden_locale_x, [] { std::locale l("C"); std::ostringstream o; o.imbue(l); o << 1.5; });
}

static volatile int hidden_async_x;
PAIR(hidden_async, "a std::async of each thread: orders nothing")
{
	around(broken, hidden_async_x, [] { std::async(std::launch::async, [] { return 1; }).get(); });
}

static std::shared_ptr<int> counted = std::make_shared<int>(1);
static volatile int hidden_shared_ptr_x;
PAIR(hidden_shared_ptr, "copies of one std::shared_ptr: orders nothing")
{
	around(broken, hidden_shared_ptr_x, [] { auto q = counted; });
}

static volatile int hidden_regex_x;
PAIR(hidden_regex, "std::regex of each thread: orders nothing")
{
	around(broken, hidden_regex_x, [] { std::regex_match("aab", std::regex("a*b")); });
}

static volatile int last_owner_x;
PAIR(last_owner, "the last owner of a std::shared_ptr destroys what the others used")
{
	struct node {
		~node() { last_owner_x = last_owner_x + 1; }
	};
	auto p = std::make_shared<node>();
	std::thread a([p = broken ? nullptr : p]() mutable { last_owner_x = last_owner_x + 1; p.reset(); });
	p.reset();
	a.join();
	puts("done");
}

static volatile int frame_atomic_x;
static std::atomic<int> shared_count;
static __attribute__((noinline)) void count(int broken)
{
	std::atomic<int> own{0}, &n = broken ? own : shared_count;
	n.fetch_add(1);
}
PAIR(frame_atomic, "an atomic variable in the frame of a function")
{
	std::thread a([=] { frame_atomic_x = 1; count(broken); });
	std::thread b([=] { std::this_thread::sleep_for(3ms); count(broken); frame_atomic_x = 2; });
	a.join();
	b.join();
	puts("done");
}

/* Threads that rethrow one exception have one object. */
struct shared_exception_thrown {
	int value;
};
static std::mutex shared_exception_lock;
PAIR(shared_exception, "one exception rethrown in two threads")
{
	std::exception_ptr p;

	try {
		throw shared_exception_thrown{1};
	} catch (...) {
		p = std::current_exception();
	}
	auto f = [=] {
		try {
			std::rethrow_exception(p);
		} catch (shared_exception_thrown &e) {
			std::unique_lock<std::mutex> hold(shared_exception_lock, std::defer_lock);
			if (!broken)
				hold.lock();
			e.value++;
		}
	};
	std::thread a(f), b(f);
	a.join();
	b.join();
	printf("done\n");
}

static std::mutex unsynced_lock;
PAIR(unsynced, "std::cout after sync_with_stdio(false)")
{
	std::ios::sync_with_stdio(false);
	auto f = [=] {
		std::unique_lock<std::mutex> hold(unsynced_lock, std::defer_lock);
		if (!broken)
			hold.lock();
		std::cout << "x" << 1 << '\n';
	};
	std::thread a(f), b(f);
	a.join();
	b.join();
}
