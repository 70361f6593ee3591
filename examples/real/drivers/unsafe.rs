// Three variables that threads share without order, by unsafe code: each is a race.
use std::cell::UnsafeCell;
use std::thread;
static mut HITS: u64 = 0;
struct Shared(UnsafeCell<u32>);
unsafe impl Sync for Shared {}
static LEVEL: Shared = Shared(UnsafeCell::new(0));
mod bank {
    pub struct Account {
        pub balance: i64,
    }
    impl Account {
        pub fn deposit(&mut self, n: i64) {
            self.balance += n
        }
    }
}
struct Raw(*mut bank::Account);
unsafe impl Send for Raw {}
fn bump() {
    unsafe {
        HITS += 1;
        *LEVEL.0.get() += 1;
    }
}
fn main() {
    let mut account = Box::new(bank::Account { balance: 0 });
    let p = &mut *account as *mut bank::Account;
    let t: Vec<_> = (0..2)
        .map(|_| {
            let r = Raw(p);
            thread::spawn(move || {
                let r = r;
                bump();
                unsafe { (*r.0).deposit(5) }
            })
        })
        .collect();
    for t in t {
        t.join().unwrap();
    }
    let all = unsafe { (*std::ptr::addr_of!(HITS), *LEVEL.0.get(), account.balance) };
    println!("{}", all.0 <= 2 && all.1 <= 2 && all.2 <= 10);
}
