// Threads that share as the types of Rust allow: no race may be reported.
use std::collections::HashMap;
use std::sync::{
    atomic::{AtomicBool, AtomicUsize, Ordering},
    mpsc, Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock,
};
use std::thread;
use std::time::Duration;

static INIT: Once = Once::new();
static CELL: OnceLock<String> = OnceLock::new();
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn split(data: &mut [u64], depth: u32) -> u64 {
    if depth == 0 || data.len() < 4 {
        let mut sum = 0;
        for x in data.iter_mut() {
            *x = *x * 3 + 1;
            sum += *x;
        }
        return sum;
    }
    let mid = data.len() / 2;
    let (a, b) = data.split_at_mut(mid);
    thread::scope(|s| {
        let left = s.spawn(move || split(a, depth - 1));
        let right = split(b, depth - 1);
        left.join().unwrap() + right
    })
}

fn main() {
    let words = Arc::new(Mutex::new(HashMap::new()));
    let (send, receive) = mpsc::channel();
    let (bounded, take) = mpsc::sync_channel::<Vec<u8>>(2);
    let barrier = Arc::new(Barrier::new(3));
    let ready = Arc::new((Mutex::new(false), Condvar::new()));
    let table = Arc::new(RwLock::new(vec![0u32; 16]));
    let stop = Arc::new(AtomicBool::new(false));
    let mut all = vec![];
    for id in 0..3 {
        let (words, send, bounded, barrier, ready, table, stop) = (
            words.clone(),
            send.clone(),
            bounded.clone(),
            barrier.clone(),
            ready.clone(),
            table.clone(),
            stop.clone(),
        );
        all.push(thread::spawn(move || {
            INIT.call_once(|| {
                COUNT.fetch_add(100, Ordering::Relaxed);
            });
            CELL.get_or_init(|| "first".to_string());
            barrier.wait();
            let (lock, cond) = &*ready;
            let mut go = lock.lock().unwrap();
            while !*go {
                go = cond.wait(go).unwrap();
            }
            drop(go);
            for n in 0..10 {
                *words
                    .lock()
                    .unwrap()
                    .entry(format!("w{}", n % 4))
                    .or_insert(0) += id;
                table.write().unwrap()[n] += 1;
                let _ = table.read().unwrap().iter().sum::<u32>();
                send.send((id, n)).unwrap();
                COUNT.fetch_add(1, Ordering::Relaxed);
            }
            drop(send);
            bounded.send(vec![id as u8; 8]).unwrap();
            while !stop.load(Ordering::Acquire) {
                thread::sleep(Duration::from_millis(1));
            }
        }));
    }
    drop(send);
    drop(bounded);
    {
        let (lock, cond) = &*ready;
        *lock.lock().unwrap() = true;
        cond.notify_all();
    }
    let got: usize = receive.iter().map(|(a, b)| a * 100 + b).sum();
    let bytes: usize = take.iter().take(3).map(|v| v.len()).sum();
    stop.store(true, Ordering::Release);
    for t in all {
        t.join().unwrap();
    }
    let mut data: Vec<u64> = (0..1000).collect();
    println!("{} {} {} {}", got, bytes, split(&mut data, 2), data[999]);
    let mut w: Vec<_> = words
        .lock()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), *v))
        .collect();
    w.sort();
    println!(
        "{:?} {:?} {} {}",
        w,
        table.read().unwrap(),
        COUNT.load(Ordering::Relaxed),
        CELL.get().unwrap()
    );
    let r = thread::spawn(|| {
        if COUNT.load(Ordering::Relaxed) > 0 {
            panic!("on purpose");
        }
    })
    .join();
    println!("{}", r.is_err());
}
