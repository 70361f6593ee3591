/* The rest of the library: futures, shared pointers, statics, exceptions, streams. */
#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pair.h"

template <class F> static void two(F f)
{
	std::thread a(f, 0), b(f, 1);
	a.join();
	b.join();
}

/* gate lets threads through when both are there, and orders nothing. */
struct gate {
	std::atomic<int> here{0};
	void pass()
	{
		here.fetch_add(1, std::memory_order_relaxed);
		while (here.load(std::memory_order_relaxed) < 2)
			std::this_thread::yield();
	}
};

static int async_x;
PAIR(async, "std::async, std::future")
{
	auto f = std::async(std::launch::async, [] { return ++async_x; });
	if (broken)
		async_x++;
	int got = f.get();
	async_x++;
	printf("%d\n", broken ? 0 : got + async_x);
}

static int async_deferred_x;
PAIR(async_deferred, "std::async deferred, run by another thread")
{
	auto f = std::async(std::launch::deferred, [] { return ++async_deferred_x; });
	std::thread t([&] { f.wait(); });
	if (broken)
		async_deferred_x++;
	t.join();
	printf("%d\n", broken ? 0 : async_deferred_x);
}

static int promise_x;
PAIR(promise, "std::promise")
{
	std::promise<int> p;
	auto f = p.get_future();
	std::thread t([&] {
		if (!broken)
			promise_x = 5;
		p.set_value(1);
		if (broken)
			promise_x = 5;
	});
	f.get();
	promise_x++;
	t.join();
	printf("%d\n", broken ? 0 : promise_x);
}

static int shared_future_x;
PAIR(shared_future, "std::shared_future")
{
	std::promise<void> p;
	std::shared_future<void> f = p.get_future().share();
	std::thread t([=] { f.wait(); if (shared_future_x == 3) printf("three\n"); });
	if (!broken)
		shared_future_x = 3;
	p.set_value();
	if (broken)
		shared_future_x = 3;
	t.join();
	printf("set\n");
}

static int packaged_task_x;
PAIR(packaged_task, "std::packaged_task")
{
	std::packaged_task<int()> task([] { packaged_task_x = 4; return 1; });
	auto f = task.get_future();
	std::thread t(std::move(task));
	if (!broken)
		f.get();
	packaged_task_x++;
	t.join();
	printf("%d\n", broken ? 0 : packaged_task_x);
}

static int exception_x;
PAIR(exception, "exceptions in several threads")
{
	std::mutex m;
	two([&](int n) {
		for (int i = 0; i < 3; i++)
			try {
				std::unique_lock<std::mutex> hold(m, std::defer_lock);
				if (!broken)
					hold.lock();
				exception_x++;
				throw std::runtime_error("thrown " + std::to_string(n));
			} catch (const std::exception &e) {
				if (strlen(e.what()) != 8)
					printf("%s\n", e.what());
			}
	});
	printf("%d\n", broken ? 0 : exception_x);
}

static int exception_ptr_x;
PAIR(exception_ptr, "std::exception_ptr carried to another thread")
{
	std::promise<int> p;
	auto f = p.get_future();
	std::thread t([&] {
		try {
			exception_ptr_x = 2;
			throw std::logic_error("carried");
		} catch (...) {
			p.set_exception(std::current_exception());
		}
	});
	if (broken)
		exception_ptr_x++;
	try {
		f.get();
	} catch (const std::logic_error &e) {
		printf("%s\n", e.what());
	}
	t.join();
	printf("%d\n", broken ? 0 : exception_ptr_x);
}

static int shared_ptr_x;
struct shared_ptr_owner {
	int *at;
	~shared_ptr_owner() { ++*at; }
};
PAIR(shared_ptr, "std::shared_ptr reference counts")
{
	auto p = std::make_shared<shared_ptr_owner>(shared_ptr_owner{&shared_ptr_x});
	std::thread a([q = p, broken]() mutable { if (broken) shared_ptr_x++; q.reset(); });
	std::thread b([q = p]() mutable { if (*q->at == 50) printf("fifty\n"); q.reset(); });
	p.reset();
	a.join();
	b.join();
	printf("%d\n", broken ? 0 : shared_ptr_x);
}

static std::shared_ptr<int> shared_ptr_object_x = std::make_shared<int>(1);
PAIR(shared_ptr_object, "one std::shared_ptr assigned by two threads; std::atomic_store")
{
	two([&](int n) {
		if (broken)
			shared_ptr_object_x = std::shared_ptr<int>();
		else
			std::atomic_store(&shared_ptr_object_x, std::make_shared<int>(n));
	});
	printf("assigned\n");
}

static std::atomic<std::shared_ptr<int>> atomic_shared_ptr_p;
static int atomic_shared_ptr_x;
PAIR(atomic_shared_ptr, "std::atomic<std::shared_ptr>")
{
	std::thread t([] {
		std::shared_ptr<int> p;
		while (!(p = atomic_shared_ptr_p.load()))
			std::this_thread::yield();
		if (*p + atomic_shared_ptr_x == 50)
			printf("fifty\n");
	});
	if (!broken)
		atomic_shared_ptr_x = 2;
	atomic_shared_ptr_p.store(std::make_shared<int>(3));
	if (broken)
		atomic_shared_ptr_x = 2;
	t.join();
	printf("stored\n");
}

static int weak_ptr_x;
PAIR(weak_ptr, "std::weak_ptr::lock")
{
	auto p = std::make_shared<int>(1);
	std::weak_ptr<int> w = p;
	std::mutex m;
	gate g;
	two([&, w](int) {
		g.pass();
		if (auto q = w.lock()) {
			std::unique_lock<std::mutex> hold(m, std::defer_lock);
			if (!broken)
				hold.lock();
			if (!broken)
				weak_ptr_x += *q;
		}
		if (broken)
			weak_ptr_x++;
	});
	printf("%d\n", broken ? 0 : weak_ptr_x);
}

static int *thread_storage_x, thread_storage_shared;
static thread_local int thread_storage_own;
PAIR(thread_storage, "thread_local")
{
	if (broken)
		thread_storage_x = &thread_storage_shared;
	two([=](int) {
		int *own = broken ? thread_storage_x : &thread_storage_own;
		++*own;
	});
	printf("%d\n", thread_storage_own);
}

struct function_static_table {
	std::vector<int> v;
	function_static_table() : v{1, 2, 3} {}
};
static int function_static_x;
static const std::vector<int> &function_static_get(void)
{
	static function_static_table table;
	return table.v;
}
PAIR(function_static, "static variable of a function")
{
	two([=](int) {
		if (broken && function_static_x == 0)
			function_static_x = 1;
		if (function_static_get().size() != 3)
			printf("size\n");
	});
	printf("%d\n", std::accumulate(function_static_get().begin(), function_static_get().end(), 0));
}

static std::vector<int> vector_x;
static std::mutex vector_m;
PAIR(vector, "std::vector under a mutex")
{
	two([=](int n) {
		for (int i = 0; i < 5; i++) {
			std::unique_lock<std::mutex> hold(vector_m, std::defer_lock);
			if (!broken)
				hold.lock();
			if (!broken)
				vector_x.push_back(n);
			else if (vector_x.empty())
				vector_x.reserve(1);
		}
	});
	printf("%zu\n", broken ? 0 : vector_x.size());
}

static std::map<int, std::string> map_x;
static std::mutex map_m;
PAIR(map, "std::map of strings under a mutex")
{
	two([=](int n) {
		for (int i = 0; i < 4; i++) {
			if (broken) {
				if (map_x.size() == 100)
					printf("hundred\n");
				if (n == 0 && i == 0)
					map_x[i] = "a long enough string for the heap";
				continue;
			}
			std::lock_guard<std::mutex> hold(map_m);
			map_x[2 * i + n] = "a long enough string for the heap";
		}
	});
	printf("%zu\n", broken ? 0 : map_x.size());
}

static std::ostringstream stringstream_x;
static std::mutex stringstream_m;
PAIR(stringstream, "std::ostringstream shared by two threads")
{
	gate g;
	two([&](int) {
		g.pass();
		std::unique_lock<std::mutex> hold(stringstream_m, std::defer_lock);
		if (!broken)
			hold.lock();
		for (int i = 0; i < 5; i++)
			stringstream_x << 12;
	});
	printf("%zu\n", broken ? 0 : stringstream_x.str().size());
}

static int iostream_x;
PAIR(iostream, "std::cout from two threads")
{
	two([=](int n) {
		if (broken)
			iostream_x++;
		std::cout << (n ? "line\n" : "line\n") << std::flush;
	});
}

static int copy_x[8];
PAIR(copy, "std::copy and std::sort of a shared array")
{
	int own[8] = {3, 1, 2};
	std::thread t([&] {
		std::sort(copy_x, copy_x + 8);
	});
	if (!broken)
		t.join();
	std::copy(own, own + 8, copy_x);
	if (broken)
		t.join();
	printf("copied\n");
}

static int new_delete_x;
PAIR(new_delete, "new in one thread, delete in another")
{
	std::promise<std::string *> p;
	auto f = p.get_future();
	std::thread t([&] {
		std::string *s = f.get();
		new_delete_x += (int)s->size();
		delete s;
	});
	auto *s = new std::string(40, 'x');
	if (!broken)
		new_delete_x = (int)s->size();
	p.set_value(s);
	if (broken)
		new_delete_x = 40;
	t.join();
	printf("%d\n", broken ? 0 : new_delete_x);
}
