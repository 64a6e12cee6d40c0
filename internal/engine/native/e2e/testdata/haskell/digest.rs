// Digests standard input, in a thread for each of its lines, beside a table of constants that lies in the executable segment.
use std::collections::hash_map::{DefaultHasher, HashMap};
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead};
use std::thread;

static TABLE: [u16; 4096] = table();

// Each number of sixteen bits up to 4095, times a constant: many look like the beginning of sldt, lsl and cpuid.
const fn table() -> [u16; 4096] {
    let mut t = [0; 4096];
    let mut i = 0;
    while i < t.len() {
        t[i] = (i as u16).wrapping_mul(0x000f);
        i += 1;
    }
    t
}

fn main() {
    let read = |i: usize| unsafe { std::ptr::read_volatile(&TABLE[i]) }; // what is in memory
    let wrong = (0..TABLE.len()).filter(|&i| read(i) != (i as u16).wrapping_mul(0x000f)).count();
    let threads: Vec<_> = io::stdin()
        .lock()
        .lines()
        .map(|line| {
            thread::spawn(move || {
                let mut h = DefaultHasher::new();
                line.unwrap().hash(&mut h);
                h.finish()
            })
        })
        .collect();
    let mut seen = HashMap::new(); // keyed by random numbers
    for t in threads {
        *seen.entry(t.join().unwrap()).or_insert(0) += 1;
    }
    println!("{} lines, {} digests, {} constants wrong", seen.values().sum::<i32>(), seen.len(), wrong);
}
