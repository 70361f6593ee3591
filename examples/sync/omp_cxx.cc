// OpenMP in C++: objects that are copied, reduced and thrown.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "pair.h"

#define TEAM _Pragma("omp parallel num_threads(3)") _Pragma("omp single")

static int task_vector_x[4];
PAIR(task_vector, "task firstprivate of a std::vector")
{
	TEAM {
		std::vector<int> v{1, 2, 3};
		for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(v, i)
			{
				v.push_back(i);
				task_vector_x[broken ? 0 : i] = std::accumulate(v.begin(), v.end(), 0);
			}
			v.push_back(i);
		}
	}
	printf("%d\n", broken ? 0 : task_vector_x[0] + task_vector_x[3]);
}

static int task_string_x;
PAIR(task_string, "task firstprivate of a std::string, shared of another")
{
	TEAM {
		std::string own(40, 'a'), all;
#pragma omp task firstprivate(own) shared(all)
		{
			own += "b";
			all += own;
			if (broken)
				task_string_x += own.size();
		}
		own = "c";
		if (broken)
			task_string_x++;
#pragma omp taskwait
		own += all;
		if (own.size() != 42)
			printf("%zu\n", own.size());
	}
	printf("done\n");
}

static int task_reference_x[8];
static void task_reference(int &first, const std::vector<int> &list, int broken)
{
	for (unsigned i = 0; i < list.size(); i++) {
#pragma omp task firstprivate(first, list, i)
		{
			first += list[i];
			task_reference_x[broken ? 0 : i] = first;
		}
		first++;
	}
}
PAIR(task_reference, "task firstprivate of references")
{
	int first = 1;
	std::vector<int> list{1, 2, 3, 4, 5, 6, 7, 8};
	TEAM task_reference(first, list, broken);
	printf("%d\n", broken ? 0 : task_reference_x[0] + task_reference_x[7]);
}

struct Counted {
	static inline std::atomic<int> copies;
	std::unique_ptr<int> value;
	explicit Counted(int v = 0) : value(new int(v)) {}
	Counted(const Counted &c) : value(new int(*c.value)) { copies++; }
	Counted &operator=(const Counted &c)
	{
		*value = *c.value;
		return *this;
	}
};

static int task_class_x[6];
PAIR(task_class, "task, deferred and not, firstprivate of a class with a copy constructor")
{
	Counted c(5);
	for (int once = 0; once < 2; once++) {
#pragma omp parallel num_threads(once ? 3 : 1)
#pragma omp single
		for (int i = 0; i < 6; i++) {
#pragma omp task firstprivate(c, i) if(i % 3)
			{
				*c.value += i;
				task_class_x[broken ? 0 : i] += *c.value;
			}
		}
	}
	printf("%d\n", broken ? 0 : task_class_x[0] + task_class_x[5]);
}

static int taskloop_class_x[16];
PAIR(taskloop_class, "taskloop firstprivate and lastprivate of classes, in a team and outside")
{
	std::vector<int> v(16, 1);
	Counted last(0);
	TEAM {
#pragma omp taskloop firstprivate(v) lastprivate(last) num_tasks(4)
		for (int i = 0; i < 16; i++) {
			v[i] += i;
			taskloop_class_x[broken ? i / 8 : i] = v[i];
			*last.value = i;
		}
	}
#pragma omp taskloop firstprivate(v) num_tasks(4)
	for (int i = 0; i < 16; i++)
		taskloop_class_x[i] += v[i]++;
	printf("%d %d\n", *last.value, broken ? 0 : taskloop_class_x[15]);
}

static int region_class_x;
PAIR(region_class, "parallel firstprivate, for lastprivate, private of classes")
{
	std::vector<int> first{1, 2, 3}, last, own;
#pragma omp parallel num_threads(3) firstprivate(first) private(own)
	{
		first.push_back(omp_get_thread_num());
		own = first;
#pragma omp for lastprivate(last)
		for (int i = 0; i < 9; i++) {
			last = own;
			last.push_back(i);
			if (broken)
				region_class_x += i;
		}
	}
	printf("%zu %d\n", first.size(), last.back());
}

static std::vector<int> reduce_vector_x;
#pragma omp declare reduction(append : std::vector<int> : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))
PAIR(reduce_vector, "declare reduction on std::vector")
{
	std::vector<int> all;
	reduce_vector_x.reserve(64);
#pragma omp parallel for num_threads(3) reduction(append : all)
	for (int i = 0; i < 16; i++)
		(broken ? reduce_vector_x : all).push_back(i);
	std::sort(all.begin(), all.end());
	printf("%d\n", broken ? 0 : all[15]);
}

static int reduce_task_x;
#pragma omp declare reduction(join : std::string : omp_out += omp_in)
PAIR(reduce_task, "task reduction of std::string")
{
	std::string all;
	TEAM {
#pragma omp taskgroup task_reduction(join : all)
		for (int i = 0; i < 6; i++) {
#pragma omp task in_reduction(join : all)
			{
				all += "some more text";
				if (broken)
					reduce_task_x++;
			}
		}
	}
	printf("%zu\n", all.size());
}

static int range_x;
PAIR(range, "for over iterators and a range")
{
	std::vector<int> v(20);
	std::array<int, 9> a{};
#pragma omp parallel num_threads(3)
	{
#pragma omp for
		for (auto it = v.begin(); it < v.end(); ++it)
			*it = int(it - v.begin());
#pragma omp for
		for (int &e : a) {
			e = v[3];
			if (broken)
				range_x += e;
		}
	}
	printf("%d %d\n", v[19], a[8]);
}

static int exception_x;
PAIR(exception, "exceptions caught in a region, a critical section and a task")
{
	int caught = 0;
#pragma omp parallel num_threads(3)
	{
		try {
			if (broken)
				exception_x++;
			throw std::runtime_error("one");
		} catch (const std::exception &e) {
#pragma omp critical
			caught += e.what()[0] == 'o';
		}
#pragma omp single
		{
#pragma omp task shared(caught)
			try {
				throw 1;
			} catch (int i) {
#pragma omp critical
				caught += i;
			}
		}
	}
	printf("%d\n", caught);
}

struct Own {
	std::vector<int> list;
	Own() : list(3, 1) {}
};
extern Own thread_own;
#pragma omp threadprivate(thread_own)
Own thread_own;
static int thread_class_x;
PAIR(thread_class, "threadprivate and copyin of a class")
{
	int total = 0;
	thread_own.list.push_back(7);
#pragma omp parallel num_threads(3) copyin(thread_own) reduction(+ : total)
	{
		thread_own.list.push_back(omp_get_thread_num());
		total += thread_own.list.size();
		if (broken)
			thread_class_x++;
	}
	printf("%d\n", total);
}

static int single_class_x;
PAIR(single_class, "single copyprivate of a class")
{
	int total = 0;
#pragma omp parallel num_threads(3) reduction(+ : total)
	{
		std::vector<int> v;
#pragma omp single copyprivate(v)
		v = {1, 2, 3};
		v.push_back(4);
		total += std::accumulate(v.begin(), v.end(), 0);
		if (broken)
			single_class_x++;
	}
	printf("%d\n", total);
}

class Tree {
	int left_ = 0, right_ = 0;

public:
	int sum(int depth, int *count)
	{
		if (count)
			++*count;
		if (depth == 0)
			return 1;
		Tree a, b;
#pragma omp task shared(a) firstprivate(depth)
		left_ = a.sum(depth - 1, count);
#pragma omp task shared(b) firstprivate(depth)
		right_ = b.sum(depth - 1, count);
#pragma omp taskwait
		return left_ + right_;
	}
};
static int member_x;
PAIR(member, "tasks in member functions")
{
	int v = 0;
	TEAM v = Tree().sum(5, broken ? &member_x : nullptr);
	printf("%d\n", v);
}

static int lambda_x;
PAIR(lambda, "a lambda in tasks, std::mutex and std::atomic in a team")
{
	std::mutex m;
	std::atomic<int> n{0};
	auto add = [&](int i) {
		n += i;
		if (broken) {
			lambda_x += i;
		} else {
			std::lock_guard<std::mutex> hold(m);
			lambda_x += i;
		}
	};
	TEAM
	for (int i = 0; i < 6; i++) {
#pragma omp task
		add(i);
	}
	printf("%d %d\n", n.load(), broken ? 0 : lambda_x);
}

static std::map<int, std::string> containers_x;
PAIR(containers, "a std::map filled under critical, depend on its elements")
{
	std::string part[4];
	TEAM {
		for (int i = 0; i < 4; i++) {
#pragma omp task depend(out : part[i]) shared(part)
			part[i] = std::string(30, char('a' + i));
#pragma omp task depend(in : part[i]) shared(part)
			if (broken) {
				containers_x[i] = part[i];
			} else {
#pragma omp critical(fill)
				containers_x[i] = part[i];
			}
		}
	}
	printf("%zu\n", broken ? 0 : containers_x[3].size());
}
