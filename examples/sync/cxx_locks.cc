/* Threads, locks, conditions and the waiting classes of C++20. */
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "pair.h"

/* two runs f in two threads. */
template <class F> static void two(F f)
{
	std::thread a(f, 0), b(f, 1);
	a.join();
	b.join();
}

static int thread_join_x;
PAIR(thread_join, "std::thread, join")
{
	std::thread t([] { thread_join_x++; });
	if (broken)
		thread_join_x++;
	t.join();
	if (!broken)
		thread_join_x++;
	printf("%d\n", broken ? 0 : thread_join_x);
}

static int mutex_x;
static std::mutex mutex_lock;
PAIR(mutex, "std::mutex, lock_guard")
{
	two([=](int n) {
		for (int i = 0; i < 5; i++)
			if (broken && n) {
				mutex_x++;
			} else {
				std::lock_guard<std::mutex> hold(mutex_lock);
				mutex_x++;
			}
	});
	printf("%d\n", broken ? 0 : mutex_x);
}

static int unique_lock_x;
static std::mutex unique_lock_m;
PAIR(unique_lock, "std::unique_lock, unlocked early")
{
	two([=](int) {
		std::unique_lock<std::mutex> hold(unique_lock_m);
		if (broken)
			hold.unlock();
		unique_lock_x++;
	});
	printf("%d\n", broken ? 0 : unique_lock_x);
}

static int scoped_lock_x;
static std::mutex scoped_lock_a, scoped_lock_b;
PAIR(scoped_lock, "std::scoped_lock of two mutexes")
{
	two([=](int n) {
		if (broken) {
			std::scoped_lock hold(n ? scoped_lock_a : scoped_lock_b);
			scoped_lock_x++;
		} else if (n) {
			std::scoped_lock hold(scoped_lock_a, scoped_lock_b);
			scoped_lock_x++;
		} else {
			std::scoped_lock hold(scoped_lock_b, scoped_lock_a);
			scoped_lock_x++;
		}
	});
	printf("%d\n", broken ? 0 : scoped_lock_x);
}

static int recursive_mutex_x;
static std::recursive_mutex recursive_mutex_m;
PAIR(recursive_mutex, "std::recursive_mutex")
{
	two([=](int) {
		recursive_mutex_m.lock();
		recursive_mutex_m.lock();
		recursive_mutex_m.unlock();
		if (broken)
			recursive_mutex_m.unlock();
		recursive_mutex_x++;
		if (!broken)
			recursive_mutex_m.unlock();
	});
	printf("%d\n", broken ? 0 : recursive_mutex_x);
}

static int timed_mutex_x;
static std::timed_mutex timed_mutex_m;
PAIR(timed_mutex, "std::timed_mutex, try_lock_for")
{
	two([=](int) {
		using namespace std::chrono_literals;
		bool held = timed_mutex_m.try_lock_for(10s);
		if (broken && held)
			timed_mutex_m.unlock();
		timed_mutex_x++;
		if (!broken && held)
			timed_mutex_m.unlock();
	});
	printf("%d\n", broken ? 0 : timed_mutex_x);
}

static int shared_mutex_x;
static std::shared_mutex shared_mutex_m;
PAIR(shared_mutex, "std::shared_mutex")
{
	two([=](int n) {
		if (n == 0) {
			std::shared_lock hold(shared_mutex_m);
			if (broken)
				shared_mutex_x++;
			else if (shared_mutex_x < 0)
				printf("negative\n");
		} else {
			std::shared_lock look(shared_mutex_m);
			int seen = shared_mutex_x;
			look.unlock();
			if (!broken) {
				std::unique_lock hold(shared_mutex_m);
				shared_mutex_x = seen + 1;
			}
		}
	});
	printf("%d\n", broken ? 0 : shared_mutex_x);
}

static int shared_timed_mutex_x;
static std::shared_timed_mutex shared_timed_mutex_m;
PAIR(shared_timed_mutex, "std::shared_timed_mutex")
{
	two([=](int) {
		using namespace std::chrono_literals;
		if (broken)
			shared_timed_mutex_m.lock_shared();
		else if (!shared_timed_mutex_m.try_lock_for(10s))
			return;
		shared_timed_mutex_x++;
		if (broken)
			shared_timed_mutex_m.unlock_shared();
		else
			shared_timed_mutex_m.unlock();
	});
	printf("%d\n", broken ? 0 : shared_timed_mutex_x);
}

static int condition_x;
static bool condition_ready;
static std::mutex condition_m;
static std::condition_variable condition_cv;
PAIR(condition, "std::condition_variable")
{
	std::thread waiter([] {
		std::unique_lock<std::mutex> hold(condition_m);
		condition_cv.wait(hold, [] { return condition_ready; });
		hold.unlock();
		condition_x++;
	});
	if (!broken)
		condition_x = 1;
	{
		std::lock_guard<std::mutex> hold(condition_m);
		condition_ready = true;
	}
	condition_cv.notify_one();
	if (broken)
		condition_x = 1;
	waiter.join();
	printf("%d\n", broken ? 0 : condition_x);
}

static int condition_any_x;
static bool condition_any_ready;
static std::shared_mutex condition_any_m;
static std::condition_variable_any condition_any_cv;
PAIR(condition_any, "std::condition_variable_any, wait_for")
{
	std::thread waiter([] {
		using namespace std::chrono_literals;
		std::shared_lock hold(condition_any_m);
		while (!condition_any_cv.wait_for(hold, 1s, [] { return condition_any_ready; }))
			;
		condition_any_x++;
	});
	if (!broken)
		condition_any_x = 1;
	{
		std::unique_lock hold(condition_any_m);
		condition_any_ready = true;
	}
	condition_any_cv.notify_all();
	if (broken)
		condition_any_x = 1;
	waiter.join();
	printf("%d\n", broken ? 0 : condition_any_x);
}

static int call_once_x;
static std::once_flag call_once_flag;
PAIR(call_once, "std::call_once")
{
	two([=](int) {
		if (broken)
			call_once_x = 7;
		else
			std::call_once(call_once_flag, [] { call_once_x = 7; });
		if (call_once_x != 7)
			printf("not yet\n");
	});
	printf("%d\n", call_once_x);
}

static int jthread_x;
PAIR(jthread, "std::jthread, stop_token")
{
	{
		std::jthread t([](std::stop_token stop) {
			while (!stop.stop_requested())
				std::this_thread::yield();
			jthread_x++;
		});
		if (!broken)
			jthread_x = 1;
		t.request_stop();
		if (broken)
			jthread_x = 1;
	}
	printf("%d\n", broken ? 0 : jthread_x);
}

static int stop_callback_x;
PAIR(stop_callback, "std::stop_callback")
{
	std::stop_source source;
	std::thread t([=, token = source.get_token()] {
		std::stop_callback told(token, [] { stop_callback_x++; });
		while (!token.stop_requested())
			std::this_thread::yield();
		if (broken)
			stop_callback_x++;
	});
	source.request_stop();
	if (broken)
		stop_callback_x++;
	t.join();
	printf("stopped\n");
}

static int latch_x[2];
PAIR(latch, "std::latch")
{
	std::latch done(2);
	two([&](int n) {
		if (!broken)
			latch_x[n] = n + 1;
		done.arrive_and_wait();
		if (broken)
			latch_x[n] = n + 1;
		if (latch_x[0] + latch_x[1] == 100)
			printf("odd\n");
	});
	printf("%d\n", latch_x[0] + latch_x[1]);
}

static int barrier_x[2];
PAIR(barrier, "std::barrier")
{
	std::barrier<> phase(2);
	two([&](int n) {
		for (int i = 0; i < 3; i++) {
			barrier_x[n]++;
			if (!broken)
				phase.arrive_and_wait();
			int sum = barrier_x[0] + barrier_x[1];
			if (sum == 100)
				printf("odd\n");
			phase.arrive_and_wait();
		}
	});
	printf("%d\n", barrier_x[0] + barrier_x[1]);
}

static int semaphore_x;
PAIR(semaphore, "std::counting_semaphore, binary_semaphore")
{
	std::counting_semaphore<2> many(2);
	std::binary_semaphore one(1);
	two([&](int) {
		for (int i = 0; i < 3; i++) {
			if (broken)
				many.acquire();
			else
				one.acquire();
			if (!broken)
				semaphore_x++;
			if (broken)
				many.release();
			else
				one.release();
			if (broken)
				semaphore_x++;
		}
	});
	printf("%d\n", broken ? 0 : semaphore_x);
}

static int detach_x;
static std::mutex detach_m;
static std::condition_variable detach_cv;
static bool detach_done;
PAIR(detach, "std::thread::detach")
{
	std::thread([] {
		detach_x++;
		std::lock_guard<std::mutex> hold(detach_m);
		detach_done = true;
		detach_cv.notify_one();
	}).detach();
	if (broken)
		detach_x++;
	std::unique_lock<std::mutex> hold(detach_m);
	detach_cv.wait(hold, [] { return detach_done; });
	detach_x++;
	printf("%d\n", broken ? 0 : detach_x);
}
