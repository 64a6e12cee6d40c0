// A ledger that adds amounts up, and at the end has a sum that should not be: the bug is that amounts above 40 count twice.
struct Entry {
    amount: i64,
    note: String,
}

struct Ledger {
    sum: i64,
    entries: Vec<Entry>,
}

#[inline(never)]
fn add(ledger: &mut Ledger, amount: i64) {
    let weight = if amount > 40 { 2 } else { 1 };
    ledger.sum += amount * weight;
    ledger.entries.push(Entry { amount, note: format!("entry {}", amount) });
}

#[inline(never)]
fn report(ledger: &Ledger) {
    println!("{} in {} entries, the last {} ({})", ledger.sum, ledger.entries.len(), ledger.entries[ledger.entries.len() - 1].amount, ledger.entries[0].note);
}

fn main() {
    let mut ledger = Ledger { sum: 0, entries: Vec::new() };
    for amount in 1..=5 {
        add(&mut ledger, amount * 10);
        std::thread::sleep(std::time::Duration::from_millis(10));
        report(&ledger);
    }
}
