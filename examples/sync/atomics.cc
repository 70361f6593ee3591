/* Home-made synchronisation on C++ atomics, with each memory order. */
#include <atomic>
#include <thread>

#include "pair.h"

using namespace std;

template <class F> static void two(F f)
{
	thread a(f, 0), b(f, 1);
	a.join();
	b.join();
}

/* message passes x from one thread to another; set and get are the flag. */
template <class S, class G> static void message(int *x, int broken, S set, G get)
{
	thread reader([=] {
		while (!get())
			this_thread::yield();
		if (*x == 50)
			printf("fifty\n");
	});
	if (!broken)
		*x = 1;
	set();
	if (broken)
		*x = 1;
	reader.join();
	printf("%d\n", *x);
}

static int flag_acquire_x;
static atomic<int> flag_acquire_f;
PAIR(flag_acquire, "flag: release store, acquire load")
{
	message(&flag_acquire_x, broken, [] { flag_acquire_f.store(1, memory_order_release); },
		[] { return flag_acquire_f.load(memory_order_acquire); });
}

static int flag_seq_cst_x;
static atomic<bool> flag_seq_cst_f;
PAIR(flag_seq_cst, "flag: sequentially consistent")
{
	message(&flag_seq_cst_x, broken, [] { flag_seq_cst_f = true; }, [] { return flag_seq_cst_f.load(); });
}

static int flag_consume_x;
static atomic<int *> flag_consume_f;
PAIR(flag_consume, "pointer: release store, consume load")
{
	thread reader([=] {
		int *p;
		while (!(p = flag_consume_f.load(memory_order_consume)))
			this_thread::yield();
		if (*p == 50)
			printf("fifty\n");
	});
	if (!broken)
		flag_consume_x = 1;
	flag_consume_f.store(&flag_consume_x, memory_order_release);
	if (broken)
		flag_consume_x = 1;
	reader.join();
	printf("%d\n", flag_consume_x);
}

static int flag_relaxed_x;
static atomic<int> flag_relaxed_f;
PAIR(flag_relaxed, "flag: relaxed instead of release and acquire")
{
	memory_order in = memory_order_relaxed;
	thread reader([=] {
		if (broken)
			while (!flag_relaxed_f.load(in))
				this_thread::yield();
		else
			while (!flag_relaxed_f.load(memory_order_acquire))
				this_thread::yield();
		if (flag_relaxed_x == 50)
			printf("fifty\n");
	});
	flag_relaxed_x = 1;
	if (broken)
		flag_relaxed_f.store(1, memory_order_relaxed);
	else
		flag_relaxed_f.store(1, memory_order_release);
	reader.join();
	printf("%d\n", flag_relaxed_x);
}

static int exchange_x;
static atomic<int> exchange_f;
PAIR(exchange, "flag: exchange, acq_rel")
{
	message(&exchange_x, broken, [] { exchange_f.exchange(1, memory_order_acq_rel); },
		[] { return exchange_f.exchange(0, memory_order_acq_rel); });
}

static int fence_both_x;
static atomic<int> fence_both_f;
PAIR(fence_both, "atomic_thread_fence release and acquire around relaxed accesses")
{
	thread reader([=] {
		while (!fence_both_f.load(memory_order_relaxed))
			this_thread::yield();
		if (!broken)
			atomic_thread_fence(memory_order_acquire);
		if (fence_both_x == 50)
			printf("fifty\n");
	});
	fence_both_x = 1;
	if (!broken)
		atomic_thread_fence(memory_order_release);
	fence_both_f.store(1, memory_order_relaxed);
	reader.join();
	printf("%d\n", fence_both_x);
}

static int fence_release_x;
static atomic<int> fence_release_f;
PAIR(fence_release, "release fence, relaxed store, acquire load")
{
	message(&fence_release_x, broken,
		[] {
			atomic_thread_fence(memory_order_release);
			fence_release_f.store(1, memory_order_relaxed);
		},
		[] { return fence_release_f.load(memory_order_acquire); });
}

static int fence_acquire_x;
static atomic<int> fence_acquire_f;
PAIR(fence_acquire, "release store, relaxed load, acquire fence")
{
	message(&fence_acquire_x, broken, [] { fence_acquire_f.store(1, memory_order_release); },
		[] {
			int v = fence_acquire_f.load(memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			return v;
		});
}

static int fence_far_x, fence_far_sink;
static atomic<int> fence_far_f;
PAIR(fence_far, "release fence with other work between it and the store")
{
	thread reader([=] {
		while (!fence_far_f.load(memory_order_relaxed))
			this_thread::yield();
		int sum = 0;
		for (int i = 0; i < 5; i++)
			sum += i;
		atomic_thread_fence(memory_order_acquire);
		if (fence_far_x + sum == 50)
			printf("fifty\n");
	});
	if (!broken)
		fence_far_x = 1;
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < 5; i++)
		fence_far_sink += i;
	if (broken)
		fence_far_x = 1;
	fence_far_f.store(1, memory_order_relaxed);
	reader.join();
	printf("%d\n", fence_far_x);
}

static int fence_rmw_x;
static atomic<int> fence_rmw_f;
PAIR(fence_rmw, "fences around relaxed read-modify-writes")
{
	two([=](int) {
		while (fence_rmw_f.exchange(1, memory_order_relaxed))
			this_thread::yield();
		if (!broken)
			atomic_thread_fence(memory_order_acquire);
		fence_rmw_x++;
		if (!broken)
			atomic_thread_fence(memory_order_release);
		fence_rmw_f.exchange(0, memory_order_relaxed);
	});
	printf("%d\n", broken ? 0 : fence_rmw_x);
}

static int dekker_x;
static atomic<int> dekker_f[2];
PAIR(dekker, "seq_cst fences, Dekker's entry")
{
	two([=](int n) {
		dekker_f[n].store(1, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		if (!dekker_f[!n].load(memory_order_relaxed)) {
			if (broken)
				dekker_x++;
		}
		if (broken)
			dekker_x++;
	});
	printf("%d\n", dekker_x == 50);
}

static int spin_flag_x;
static atomic_flag spin_flag_f = ATOMIC_FLAG_INIT;
PAIR(spin_flag, "spin lock of an atomic_flag")
{
	two([=](int) {
		for (int i = 0; i < 4; i++) {
			while (spin_flag_f.test_and_set(memory_order_acquire))
				this_thread::yield();
			if (broken)
				spin_flag_f.clear(memory_order_release);
			spin_flag_x++;
			if (!broken)
				spin_flag_f.clear(memory_order_release);
		}
	});
	printf("%d\n", broken ? 0 : spin_flag_x);
}

static int spin_cas_x;
static atomic<int> spin_cas_f;
PAIR(spin_cas, "spin lock of compare_exchange_weak")
{
	two([=](int) {
		for (int i = 0; i < 4; i++) {
			int free = 0;
			if (broken)
				while (!spin_cas_f.compare_exchange_weak(free, 1, memory_order_relaxed, memory_order_relaxed))
					free = 0;
			else
				while (!spin_cas_f.compare_exchange_weak(free, 1, memory_order_acquire, memory_order_relaxed))
					free = 0;
			spin_cas_x++;
			if (broken)
				spin_cas_f.store(0, memory_order_relaxed);
			else
				spin_cas_f.store(0, memory_order_release);
		}
	});
	printf("%d\n", broken ? 0 : spin_cas_x);
}

static int ticket_x;
static atomic<unsigned> ticket_next, ticket_serving;
PAIR(ticket, "ticket lock")
{
	two([=](int) {
		for (int i = 0; i < 4; i++) {
			unsigned mine = ticket_next.fetch_add(1, memory_order_relaxed);
			if (broken)
				while (ticket_serving.load(memory_order_relaxed) != mine)
					this_thread::yield();
			else
				while (ticket_serving.load(memory_order_acquire) != mine)
					this_thread::yield();
			ticket_x++;
			ticket_serving.store(mine + 1, memory_order_release);
		}
	});
	printf("%d\n", broken ? 0 : ticket_x);
}

struct mcs_node {
	atomic<mcs_node *> next;
	atomic<bool> locked;
};
static int mcs_x;
static atomic<mcs_node *> mcs_tail;
PAIR(mcs, "MCS queue lock")
{
	two([=](int) {
		for (int i = 0; i < 4; i++) {
			mcs_node me;
			me.next.store(nullptr, memory_order_relaxed);
			me.locked.store(true, memory_order_relaxed);
			mcs_node *before = mcs_tail.exchange(&me, memory_order_acq_rel);
			if (before) {
				before->next.store(&me, memory_order_release);
				while (me.locked.load(memory_order_acquire))
					this_thread::yield();
			}
			if (!broken)
				mcs_x++;
			mcs_node *self = &me;
			if (!me.next.load(memory_order_acquire)) {
				if (mcs_tail.compare_exchange_strong(self, nullptr, memory_order_acq_rel))
					goto out;
				while (!me.next.load(memory_order_acquire))
					this_thread::yield();
			}
			me.next.load(memory_order_relaxed)->locked.store(false, memory_order_release);
		out:
			if (broken)
				mcs_x++;
		}
	});
	printf("%d\n", broken ? 0 : mcs_x);
}

static atomic<int> peterson_want[2], peterson_turn;
static int peterson_x;
PAIR(peterson, "Peterson's lock, seq_cst")
{
	two([=](int n) {
		for (int i = 0; i < 4; i++) {
			peterson_want[n] = 1;
			peterson_turn = !n;
			while (!broken && peterson_want[!n] && peterson_turn == !n)
				this_thread::yield();
			peterson_x++;
			peterson_want[n] = 0;
		}
	});
	printf("%d\n", broken ? 0 : peterson_x);
}

static atomic<unsigned> seqlock_version;
static atomic<int> seqlock_a, seqlock_b;
static int seqlock_x;
PAIR(seqlock, "seqlock with relaxed data and fences")
{
	thread writer([=] {
		for (int i = 1; i < 4; i++) {
			unsigned v = seqlock_version.load(memory_order_relaxed);
			seqlock_version.store(v + 1, memory_order_relaxed);
			atomic_thread_fence(memory_order_release);
			seqlock_a.store(i, memory_order_relaxed);
			seqlock_b.store(i, memory_order_relaxed);
			seqlock_version.store(v + 2, memory_order_release);
			if (broken)
				seqlock_x = i;
		}
	});
	thread reader([=] {
		for (int tries = 0; tries < 3; tries++) {
			unsigned before, after;
			int a, b;
			do {
				before = seqlock_version.load(memory_order_acquire);
				a = seqlock_a.load(memory_order_relaxed);
				b = seqlock_b.load(memory_order_relaxed);
				if (broken)
					a = b = seqlock_x;
				atomic_thread_fence(memory_order_acquire);
				after = seqlock_version.load(memory_order_relaxed);
			} while (before != after || before & 1);
			if (a != b)
				printf("torn\n");
		}
	});
	writer.join();
	reader.join();
	printf("read\n");
}

struct hazard_node {
	int value;
};
static atomic<hazard_node *> hazard_pointer, hazard_shared;
static hazard_node hazard_x[2];
PAIR(hazard, "hazard pointer: publication, then reclamation")
{
	hazard_x[0].value = 1;
	hazard_shared.store(&hazard_x[0], memory_order_release);
	thread reader([=] {
		hazard_node *p;
		do {
			p = hazard_shared.load();
			hazard_pointer.store(p);
		} while (p != hazard_shared.load());
		if (p->value == 50)
			printf("fifty\n");
		hazard_pointer.store(nullptr);
	});
	hazard_x[1].value = 2;
	hazard_shared.exchange(&hazard_x[1]);
	while (!broken && hazard_pointer.load() == &hazard_x[0])
		this_thread::yield();
	if (broken)
		hazard_x[0].value = hazard_x[1].value = 0;
	reader.join();
	printf("reclaimed\n");
}

static int spsc_x[4];
static atomic<unsigned> spsc_head, spsc_tail;
PAIR(spsc, "ring of one producer and one consumer")
{
	thread consumer([=] {
		int sum = 0;
		for (unsigned i = 0; i < 10; i++) {
			while (spsc_tail.load(memory_order_acquire) == i)
				this_thread::yield();
			sum += spsc_x[i % 4];
			spsc_head.store(i + 1, memory_order_release);
		}
		printf("%d\n", broken ? 0 : sum);
	});
	for (unsigned i = 0; i < 10; i++) {
		while (i - spsc_head.load(memory_order_acquire) == 4)
			this_thread::yield();
		if (!broken)
			spsc_x[i % 4] = (int)i;
		spsc_tail.store(i + 1, memory_order_release);
		if (broken)
			spsc_x[i % 4] = (int)i;
	}
	consumer.join();
}

struct mpsc_node {
	mpsc_node *next;
	int value;
};
static mpsc_node mpsc_x[2];
static atomic<mpsc_node *> mpsc_head;
PAIR(mpsc, "stack of many producers, taken whole by one consumer")
{
	thread a([=] {
		mpsc_x[0].value = 1;
		mpsc_x[0].next = mpsc_head.load(memory_order_relaxed);
		while (!mpsc_head.compare_exchange_weak(mpsc_x[0].next, &mpsc_x[0], memory_order_release, memory_order_relaxed))
			;
	});
	thread b([=] {
		mpsc_x[1].value = 2;
		mpsc_x[1].next = mpsc_head.load(memory_order_relaxed);
		while (!mpsc_head.compare_exchange_weak(mpsc_x[1].next, &mpsc_x[1], memory_order_release, memory_order_relaxed))
			;
	});
	int sum = 0;
	while (sum != 3) {
		mpsc_node *n = broken ? mpsc_head.exchange(nullptr, memory_order_relaxed)
				      : mpsc_head.exchange(nullptr, memory_order_acquire);
		for (; n; n = n->next)
			sum += n->value;
	}
	a.join();
	b.join();
	printf("%d\n", sum);
}

static atomic<int> counter_count;
static int counter_x;
PAIR(counter, "reference count: fetch_sub release, last one acquires")
{
	counter_count = 2;
	two([=](int) {
		if (!broken && counter_x == 50)
			printf("fifty\n");
		bool last = broken ? counter_count.fetch_sub(1, memory_order_relaxed) == 1
				   : counter_count.fetch_sub(1, memory_order_release) == 1;
		if (broken && !last)
			counter_x = 5;
		if (last) {
			atomic_thread_fence(memory_order_acquire);
			counter_x++;
		}
	});
	printf("%d\n", broken ? 0 : counter_x);
}

static atomic<int> wait_notify_f;
static int wait_notify_x;
PAIR(wait_notify, "std::atomic::wait and notify_one")
{
	thread waiter([] {
		wait_notify_f.wait(0, memory_order_acquire);
		if (wait_notify_x == 50)
			printf("fifty\n");
	});
	if (!broken)
		wait_notify_x = 1;
	wait_notify_f.store(1, memory_order_release);
	wait_notify_f.notify_one();
	if (broken)
		wait_notify_x = 1;
	waiter.join();
	printf("%d\n", wait_notify_x);
}

static atomic<int> wait_relaxed_f;
static int wait_relaxed_x;
PAIR(wait_relaxed, "std::atomic::wait acquire, or relaxed")
{
	thread waiter([=] {
		if (broken)
			wait_relaxed_f.wait(0, memory_order_relaxed);
		else
			wait_relaxed_f.wait(0, memory_order_acquire);
		if (wait_relaxed_x == 50)
			printf("fifty\n");
	});
	this_thread::sleep_for(chrono::milliseconds(3)); // it sleeps by then
	wait_relaxed_x = 1;
	wait_relaxed_f.store(1, memory_order_release);
	wait_relaxed_f.notify_one();
	waiter.join();
	printf("%d\n", wait_relaxed_x);
}

static atomic_flag wait_flag_f;
static int wait_flag_x;
PAIR(wait_flag, "std::atomic_flag::wait and notify_all, set with release or relaxed")
{
	thread waiter([] {
		wait_flag_f.wait(false);
		if (wait_flag_x == 50)
			printf("fifty\n");
	});
	wait_flag_x = 1;
	if (broken)
		wait_flag_f.test_and_set(memory_order_relaxed);
	else
		wait_flag_f.test_and_set(memory_order_release);
	wait_flag_f.notify_all();
	waiter.join();
	printf("%d\n", wait_flag_x);
}

static atomic<unsigned char> bytes_f[2];
static int bytes_x;
PAIR(bytes, "atomic bytes: flags beside each other")
{
	message(&bytes_x, broken, [] { bytes_f[1].store(1, memory_order_release); },
		[] {
			bytes_f[0].fetch_or(2, memory_order_relaxed);
			return bytes_f[1].load(memory_order_acquire);
		});
}

static atomic<int> relaxed_counter_x;
static int relaxed_counter_plain;
PAIR(relaxed_counter, "relaxed counters")
{
	two([=](int) {
		for (int i = 0; i < 5; i++)
			if (broken)
				relaxed_counter_plain++;
			else
				relaxed_counter_x.fetch_add(1, memory_order_relaxed);
	});
	printf("%d\n", relaxed_counter_x.load(memory_order_relaxed));
}

static atomic<long> release_sequence_f;
static int release_sequence_x;
PAIR(release_sequence, "a release sequence continued by a relaxed fetch_add")
{
	thread a([=] {
		release_sequence_x = 1;
		release_sequence_f.store(1, memory_order_release);
	});
	thread b([=] {
		while (!release_sequence_f.load(memory_order_relaxed))
			this_thread::yield();
		if (broken)
			release_sequence_f.store(2, memory_order_relaxed);
		else
			release_sequence_f.fetch_add(1, memory_order_relaxed);
	});
	thread c([=] {
		while (release_sequence_f.load(memory_order_acquire) < 2)
			this_thread::yield();
		if (release_sequence_x == 50)
			printf("fifty\n");
	});
	a.join();
	b.join();
	c.join();
	printf("%d\n", release_sequence_x);
}

static int ref_read_x;
PAIR(ref_read, "atomic_ref, and a plain read")
{
	two([=](int me) {
		int seen = 0;
		for (int i = 0; i < 5; i++)
			if (me == 0)
				atomic_ref<int>(ref_read_x).fetch_add(1, memory_order_relaxed);
			else
				seen += atomic_ref<int>(ref_read_x).load(memory_order_relaxed);
		if (broken && me == 1)
			seen += ref_read_x;
		if (seen > 50)
			printf("more\n");
	});
	printf("%d\n", ref_read_x);
}

static int sync_read_x;
PAIR(sync_read, "__sync_fetch_and_add in C++, and a plain read")
{
	two([=](int me) {
		int seen = 0;
		for (int i = 0; i < 5; i++)
			if (me == 0)
				__sync_fetch_and_add(&sync_read_x, 1);
			else
				seen += __atomic_load_n(&sync_read_x, __ATOMIC_RELAXED);
		if (broken && me == 1)
			seen += sync_read_x;
		if (seen > 50)
			printf("more\n");
	});
	printf("%d\n", sync_read_x);
}
