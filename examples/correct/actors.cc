// Actors: each has a mailbox and a state that only its own thread touches.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

class Actor {
	std::mutex lock;
	std::condition_variable some;
	std::deque<std::function<bool()>> mailbox; // false: the last message
	std::thread thread{[this] { live(); }};

	void live()
	{
		for (bool on = true; on;) {
			std::function<bool()> message;
			{
				std::unique_lock hold(lock);
				some.wait(hold, [this] { return !mailbox.empty(); });
				message = std::move(mailbox.front());
				mailbox.pop_front();
			}
			on = message();
		}
	}

public:
	void send(std::function<bool()> message)
	{
		std::lock_guard hold(lock);
		mailbox.push_back(std::move(message));
		some.notify_one();
	}

	void join() { thread.join(); }
};

struct Account {
	Actor actor;
	long balance = 100; // the actor's, and after join its creator's

	void pay(Account &to, long amount, int hops)
	{
		actor.send([this, &to, amount, hops] {
			balance -= amount;
			to.actor.send([this, &to, amount, hops] {
				to.balance += amount;
				if (hops > 0)
					to.pay(*this, amount / 2, hops - 1);
				else
					stop(to);
				return true;
			});
			return true;
		});
	}

	void stop(Account &other)
	{
		actor.send([] { return false; });
		other.actor.send([] { return false; });
	}
};

int main()
{
	auto a = std::make_unique<Account>(), b = std::make_unique<Account>();

	a->pay(*b, 64, 5);
	a->actor.join();
	b->actor.join();
	std::printf("%ld together\n", a->balance + b->balance);
	return 0;
}
