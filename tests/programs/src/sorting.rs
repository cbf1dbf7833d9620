// Threads, channels, a panic that is caught, maps and sorts:  sorting ROUNDS
use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;

#[inline(never)]
fn mix_numbers(rounds: u64, seed: u64) -> u64 {
    let mut h = seed;
    for i in 0..rounds {
        h = (h ^ (h >> 29)).wrapping_mul(0xbf58476d1ce4e5b9).wrapping_add(i);
    }
    h
}

#[inline(never)]
fn sort_numbers(seed: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..4000).map(|i| mix_numbers(3, i ^ seed)).collect();
    numbers.sort_unstable();
    numbers[2000]
}

#[inline(never)]
fn count_words(seed: u64) -> u64 {
    let mut words: HashMap<String, u64> = HashMap::new();
    for i in 0..1000u64 {
        *words.entry(format!("word {}", (i * 31 + seed) % 97)).or_insert(0) += i;
    }
    words["word 5"]
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let (send, receive) = mpsc::channel();
    std::panic::set_hook(Box::new(|_| {}));
    for t in 0..4u64 {
        let send = send.clone();
        thread::spawn(move || {
            let mut sum = 0u64;
            for i in 0..rounds {
                sum = sum
                    .wrapping_add(mix_numbers(50000, i))
                    .wrapping_add(sort_numbers(i))
                    .wrapping_add(count_words(i));
                if std::panic::catch_unwind(|| { if i % 3 == 0 { panic!("caught") } }).is_err() {
                    sum = sum.wrapping_add(1);
                }
            }
            send.send((t, sum)).unwrap();
        });
    }
    drop(send);
    let mut results: Vec<(u64, u64)> = receive.iter().collect();
    results.sort_unstable();
    println!("{:?}", results);
}
