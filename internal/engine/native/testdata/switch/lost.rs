use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
static COUNTER: AtomicU64 = AtomicU64::new(0);
fn work() {
    for _ in 0..100 {
        let v = COUNTER.load(Ordering::SeqCst);
        COUNTER.store(v + 1, Ordering::SeqCst);
    }
}
fn main() {
    let a = thread::spawn(work);
    let b = thread::spawn(work);
    a.join().unwrap();
    b.join().unwrap();
    if COUNTER.load(Ordering::SeqCst) != 200 { std::process::exit(3); }
    println!("ok");
    loop { thread::park(); }
}
