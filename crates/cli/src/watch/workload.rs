//! What writes: small programs whose patterns are known.

use std::io;

use clap::ValueEnum;
use ntux_platform::atomic::Word32;
use ntux_watch::{Region, page_size};

/// A built-in program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Workload {
    /// Shell sort of random numbers: whole sweeps at first, then less and less.
    Sort,
    /// The sieve of Eratosthenes: sweeps with growing steps.
    Sieve,
    /// A generational collector: a nursery that is filled again and again, and now and then an old page.
    Collector,
    /// Pages at random.
    Random,
}

/// The memory as 64-bit numbers, for one thread, until it is told to stop.
struct Numbers<'a> {
    base: usize,
    count: usize,
    stop: &'a Word32,
}

impl Workload {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Sort => "sort",
            Workload::Sieve => "sieve",
            Workload::Collector => "collector",
            Workload::Random => "random",
        }
    }

    /// Runs it again and again on the region, beside `ask`.
    pub fn run_beside<T>(self, region: &Region, ask: impl FnOnce() -> T) -> io::Result<T> {
        let stop = Word32::new(0);
        let range = region.range();
        let numbers = Numbers { base: range.start, count: range.length / size_of::<u64>(), stop: &stop };
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                while numbers.goes_on() {
                    self.once(&numbers)
                }
            });
            let result = ask();
            stop.store(1);
            writer.join().map_err(|_| io::Error::other("the workload failed"))?;
            Ok(result)
        })
    }

    fn once(self, numbers: &Numbers<'_>) {
        match self {
            Workload::Sort => sort(numbers),
            Workload::Sieve => sieve(numbers),
            Workload::Collector => collector(numbers),
            Workload::Random => {
                let mut state = 1;
                for _ in 0..10_000 {
                    numbers.set(random(&mut state) as usize % numbers.count, state);
                }
            }
        }
    }
}

impl Numbers<'_> {
    fn goes_on(&self) -> bool {
        self.stop.load() == 0
    }

    fn at(&self, index: usize) -> *mut u64 {
        assert!(index < self.count);
        (self.base as *mut u64).wrapping_add(index)
    }

    fn get(&self, index: usize) -> u64 {
        // SAFETY: inside the region (`at`), which is committed and which only the workload's thread touches.
        unsafe { self.at(index).read_volatile() }
    }

    fn set(&self, index: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.at(index).write_volatile(value) };
    }
}

fn sort(numbers: &Numbers<'_>) {
    let mut state = 1;
    (0..numbers.count).take_while(|_| numbers.goes_on()).for_each(|index| numbers.set(index, random(&mut state)));
    let mut gap = numbers.count / 2;
    while gap > 0 && numbers.goes_on() {
        for index in gap..numbers.count {
            let value = numbers.get(index);
            let mut place = index;
            while place >= gap && numbers.get(place - gap) > value {
                numbers.set(place, numbers.get(place - gap));
                place -= gap;
            }
            if place != index {
                numbers.set(place, value);
            }
            if !numbers.goes_on() {
                return;
            }
        }
        gap = gap * 4 / 9;
    }
}

fn sieve(numbers: &Numbers<'_>) {
    (0..numbers.count).take_while(|_| numbers.goes_on()).for_each(|index| numbers.set(index, 1));
    let mut prime = 2;
    while prime * prime < numbers.count && numbers.goes_on() {
        if numbers.get(prime) == 1 {
            (prime * prime..numbers.count).step_by(prime).for_each(|multiple| numbers.set(multiple, 0));
        }
        prime += 1;
    }
}

fn collector(numbers: &Numbers<'_>) {
    /// One part in eight is young.
    const YOUNG: usize = 8;
    let nursery = numbers.count / YOUNG;
    let mut state = numbers.base as u64;
    let page = page_size() / size_of::<u64>();
    for round in 0..4 {
        for index in (0..nursery).step_by(8).take_while(|_| numbers.goes_on()) {
            numbers.set(index, random(&mut state));
        }
        // Who survived moves to the old part, a little further each time.
        let old =
            nursery + (round * 3 * page + random(&mut state) as usize % (4 * page)) % (numbers.count - nursery - page);
        (old..old + page).for_each(|index| numbers.set(index, state));
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 17
}
