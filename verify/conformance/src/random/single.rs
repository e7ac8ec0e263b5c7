// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with one thread: all ioctls, mostly valid, and now and then each of their edges.

use crate::device::{NEVER, WAIT_REALTIME, number};
use crate::random::dice::Dice;
use crate::random::program::{Action, Argument, Call, FAR, Fd, Memory, Program, SOON, Step, Timeout, Wait};

/// What a descriptor stands for, as far as the generator knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Semaphore,
    Mutex,
    Event,
}

const KINDS: [Kind; 3] = [Kind::Semaphore, Kind::Mutex, Kind::Event];

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut generator = Generator::new(seed);
    let length = generator.dice.between(10, 40);
    while generator.steps.len() < length {
        let action = generator.action();
        generator.push(0, action);
    }
    generator.read_all();
    Program { threads: 0, steps: generator.steps }
}

/// Makes steps, and knows which descriptors they make.
pub(crate) struct Generator {
    pub(crate) dice: Dice,
    pub(crate) objects: Vec<(Fd, Kind)>,
    /// The device, and copies of its descriptor.
    devices: Vec<Fd>,
    pub(crate) steps: Vec<Step>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { dice: Dice::new(seed), objects: Vec::new(), devices: vec![Fd::Device], steps: Vec::new() }
    }

    pub(crate) fn push(&mut self, by: usize, action: Action) {
        self.steps.push(Step { place: self.steps.len(), by, action });
    }

    fn next_made(&self) -> Fd {
        Fd::Made(self.steps.len())
    }

    /// Any action of one thread.
    pub(crate) fn action(&mut self) -> Action {
        if self.objects.len() < 2 || self.objects.len() < 12 && self.dice.once_in(6) {
            return self.create();
        }
        match self.dice.below(20) {
            0 => self.change_descriptors(),
            1..=8 => self.wait(),
            _ => self.operate(),
        }
    }

    fn create(&mut self) -> Action {
        let kind = self.dice.one_of(&KINDS);
        let mut call = self.creation(kind);
        self.objects.push((self.next_made(), kind));
        if self.dice.once_in(8) {
            self.spoil(&mut call);
        }
        Action::Call(call)
    }

    /// A call that creates an object; most are allowed.
    pub(crate) fn creation(&mut self, kind: Kind) -> Call {
        let (number, words) = match kind {
            Kind::Semaphore => (number::CREATE_SEM, self.semaphore()),
            Kind::Mutex => (number::CREATE_MUTEX, self.mutex()),
            Kind::Event => (number::CREATE_EVENT, [self.few(), self.few()]),
        };
        let device = if self.dice.once_in(20) { Fd::OtherDevice } else { self.dice.one_of(&self.devices) };
        call(device, number, words)
    }

    fn semaphore(&mut self) -> [u32; 2] {
        match self.dice.below(8) {
            0 => [self.any_number(), self.any_number()],
            1 => [self.any_number(), u32::MAX],
            _ => {
                let max = self.dice.between(1, 4);
                [self.dice.below(max + 1) as u32, max as u32]
            }
        }
    }

    fn mutex(&mut self) -> [u32; 2] {
        match self.dice.below(8) {
            0 => [self.any_number(), self.any_number()],
            1 => [self.owner(), u32::MAX - self.dice.below(3) as u32],
            2..=4 => [0, 0],
            _ => [self.owner(), self.dice.between(1, 3) as u32],
        }
    }

    fn operate(&mut self) -> Action {
        let (fd, kind) = self.dice.one_of(&self.objects);
        let mut call = self.operation(fd, kind);
        if self.dice.once_in(3) {
            self.spoil(&mut call);
        }
        Action::Call(call)
    }

    /// A call on an object that fits its kind.
    pub(crate) fn operation(&mut self, fd: Fd, kind: Kind) -> Call {
        let numbers: &[u32] = match kind {
            Kind::Semaphore => &[number::SEM_RELEASE, number::SEM_RELEASE, number::SEM_READ],
            Kind::Mutex => &[number::MUTEX_UNLOCK, number::MUTEX_UNLOCK, number::MUTEX_KILL, number::MUTEX_READ],
            Kind::Event => &[number::EVENT_SET, number::EVENT_RESET, number::EVENT_PULSE, number::EVENT_READ],
        };
        let first = match kind {
            Kind::Semaphore if self.dice.once_in(4) => self.any_number(),
            Kind::Semaphore => self.few(),
            Kind::Mutex => self.owner(),
            Kind::Event => self.any_number(),
        };
        let number = self.dice.one_of(numbers);
        call(fd, number, [first, self.any_number()])
    }

    fn wait(&mut self) -> Action {
        let most = if self.dice.once_in(10) { 9 } else { 3 };
        let least = usize::from(!self.dice.once_in(12));
        let count = self.dice.between(least, most);
        let timeout = self.timeout();
        let mut wait = self.wait_for(count, timeout);
        let mut memory = Memory::Usual;
        if self.dice.once_in(3) {
            self.spoil_wait(&mut wait);
        }
        if self.dice.once_in(10) {
            memory = self.memory(40);
        }
        let number = self.dice.one_of(&[number::WAIT_ANY, number::WAIT_ANY, number::WAIT_ALL]);
        let fd = self.dice.one_of(&self.devices);
        let mut call = Call { fd, number: number.into(), argument: Argument::Wait(wait), memory };
        if self.dice.once_in(20) {
            self.misdirect(&mut call);
        }
        Action::Call(call)
    }

    /// A wait that is allowed, for so many objects, perhaps with an alert.
    pub(crate) fn wait_for(&mut self, count: usize, timeout: Timeout) -> Wait {
        let fds: Vec<Fd> = (0..count).map(|_| self.dice.one_of(&self.objects).0).collect();
        let alert = if self.dice.once_in(4) { self.dice.one_of(&self.objects).0 } else { Fd::Number(0) };
        Wait {
            timeout,
            count: fds.len() as u32,
            fds,
            memory: Memory::Usual,
            flags: if self.dice.once_in(5) { WAIT_REALTIME } else { 0 },
            owner: self.owner(),
            alert,
            pad: 0,
        }
    }

    fn timeout(&mut self) -> Timeout {
        self.dice.one_of(&[
            Timeout::Raw(0),
            Timeout::Raw(0),
            Timeout::Raw(1),
            Timeout::FromNow(0),
            Timeout::FromNow(-1000),
            Timeout::FromNow(SOON),
            Timeout::FromNow(FAR),
            Timeout::Raw(NEVER),
            Timeout::Raw(NEVER - 1),
            Timeout::Raw(1 << 63),
            Timeout::Raw((1 << 63) - 1),
        ])
    }

    fn spoil_wait(&mut self, wait: &mut Wait) {
        match self.dice.below(12) {
            0 => wait.owner = self.dice.one_of(&[0, u32::MAX]),
            1 => wait.pad = self.dice.one_of(&[1, 0x8000_0000]),
            2 => wait.flags = self.dice.one_of(&[2, 3, 0x8000_0000, u32::MAX]),
            3 => wait.count = self.any_number(),
            4 => self.lengthen(wait),
            5 => wait.memory = self.memory(4 * wait.fds.len()),
            6 => wait.memory = Memory::InsideArguments(self.dice.one_of(&[32, 32, 20, 36])),
            7 => wait.alert = self.odd_fd(),
            8 => wait.alert = wait.fds.first().copied().unwrap_or(Fd::Device),
            9 if !wait.fds.is_empty() => {
                let twice = self.dice.one_of(&wait.fds);
                wait.fds.push(twice);
                wait.count += 1;
            }
            _ if !wait.fds.is_empty() => {
                let place = self.dice.below(wait.fds.len());
                wait.fds[place] = self.odd_fd();
            }
            _ => {}
        }
    }

    /// As many objects as are allowed, or one more.
    fn lengthen(&mut self, wait: &mut Wait) {
        let count = self.dice.one_of(&[63, 64, 64, 65]);
        wait.fds = (0..count).map(|_| self.dice.one_of(&self.objects).0).collect();
        wait.count = count as u32;
    }

    fn spoil(&mut self, call: &mut Call) {
        match self.dice.below(6) {
            0..=2 => call.memory = self.memory(call.size()),
            3 => call.argument = Argument::Words([self.any_number(), self.any_number()]),
            _ => self.misdirect(call),
        }
    }

    /// Another descriptor, or another number.
    fn misdirect(&mut self, call: &mut Call) {
        match self.dice.below(5) {
            0 => call.fd = self.odd_fd(),
            1 => call.fd = self.dice.one_of(&self.objects).0,
            2 => call.number ^= u64::from(self.dice.one_of(&[1u32 << 16, 4 << 16, 1 << 30, 1 << 31, 0x80, 0x10])),
            3 => call.number |= 0xdead_beef << 32,
            _ => {
                let any = number::encode(self.dice.below(4) as u32, 0x7e + self.dice.below(18) as u32, 8);
                call.number = any.into();
            }
        }
    }

    fn change_descriptors(&mut self) -> Action {
        let (fd, kind) = self.dice.one_of(&self.objects);
        match self.dice.below(12) {
            0 => Action::Fork,
            1 => Action::Close(self.dice.one_of(&self.devices)),
            2 => {
                self.devices.push(self.next_made());
                Action::Copy(Fd::Device)
            }
            3..=7 => Action::Close(fd),
            8 | 9 => {
                self.objects.push((self.next_made(), kind));
                Action::Copy(fd)
            }
            _ => {
                let other = self.dice.one_of(&self.objects).0;
                let onto = self.dice.one_of(&[other, Fd::Number(0)]);
                self.objects.push((self.next_made(), kind));
                Action::CopyOver(fd, onto)
            }
        }
    }

    fn memory(&mut self, size: usize) -> Memory {
        match self.dice.below(8) {
            0 => Memory::Odd(self.dice.between(1, 7)),
            1 => Memory::AtTheEnd,
            2 | 3 => Memory::Cut(self.dice.below(size.max(1))),
            4 | 5 => Memory::ReadOnly,
            _ => {
                const KERNEL: u64 = 0xffff_8880_0000_0000;
                Memory::Nowhere(self.dice.one_of(&[0, 0, 1, 8, 1 << 63, KERNEL, u64::MAX - 3, u64::MAX]))
            }
        }
    }

    fn odd_fd(&mut self) -> Fd {
        self.dice.one_of(&[
            Fd::Device,
            Fd::OtherDevice,
            Fd::Pipe,
            Fd::File,
            Fd::Number(0),
            Fd::Number(-1),
            Fd::Number(i32::MIN),
            Fd::Number(i32::MAX),
            Fd::Number(900),
        ])
    }

    pub(crate) fn owner(&mut self) -> u32 {
        self.dice.one_of(&[1, 1, 1, 1, 2, 2, 3, 0x8000_0000, u32::MAX, 0])
    }

    fn few(&mut self) -> u32 {
        self.dice.one_of(&[0, 1, 1, 1, 2, 3])
    }

    fn any_number(&mut self) -> u32 {
        const LARGE: u32 = i32::MAX as u32;
        self.dice.one_of(&[0, 1, 2, 3, 4, 5, 64, LARGE, LARGE + 1, u32::MAX - 1, u32::MAX])
    }

    /// Looks at every object in the end.
    pub(crate) fn read_all(&mut self) {
        for (fd, kind) in self.objects.clone() {
            let number = match kind {
                Kind::Semaphore => number::SEM_READ,
                Kind::Mutex => number::MUTEX_READ,
                Kind::Event => number::EVENT_READ,
            };
            self.push(0, Action::Call(call(fd, number, [7, 7])));
        }
    }
}

/// A plain call.
fn call(fd: Fd, number: u32, words: [u32; 2]) -> Call {
    Call { fd, number: number.into(), argument: Argument::Words(words), memory: Memory::Usual }
}
