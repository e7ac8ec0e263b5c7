// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choices made, those left, and where they led.

use std::collections::HashMap;

use super::fingerprint::Fingerprint;

/// The paths of a search, depth first: the one that is taken now, and at each of its branches what is still to be
/// taken.
pub struct Tree<C> {
    branches: Vec<Branch<C>>,
}

struct Branch<C> {
    options: Vec<C>,
    taken: usize,
}

impl<C> Default for Tree<C> {
    fn default() -> Self {
        Tree { branches: Vec::new() }
    }
}

impl<C: Copy> Tree<C> {
    /// What leads to the end of the path that is known so far.
    pub fn path(&self) -> impl Iterator<Item = C> {
        self.branches.iter().map(|branch| branch.options[branch.taken])
    }

    /// The path goes on: the first option is taken, the others later. Returns `None` if there is none.
    pub fn branch(&mut self, options: Vec<C>) -> Option<C> {
        let first = options.first().copied()?;
        self.branches.push(Branch { options, taken: 0 });
        Some(first)
    }

    /// Goes back to the last branch with an option that was not taken, and takes it. Returns false if all were taken.
    pub fn next_path(&mut self) -> bool {
        while self.branches.pop_if(|branch| branch.taken + 1 == branch.options.len()).is_some() {}
        match self.branches.last_mut() {
            Some(branch) => {
                branch.taken += 1;
                true
            }
            None => false,
        }
    }
}

/// The states met so far, each with one more than the most preemptions that were left there.
#[derive(Default)]
pub struct Visited {
    states: HashMap<Fingerprint, u32>,
}

impl Visited {
    /// Returns whether something may come of a state, with so many preemptions left, that was not tried yet; from now
    /// on it was.
    pub fn is_new(&mut self, state: Fingerprint, left: u32) -> bool {
        let most = self.states.entry(state).or_insert(0);
        let is_new = *most <= left;
        *most = (*most).max(left.saturating_add(1));
        is_new
    }

    /// How many states there are.
    pub fn count(&self) -> usize {
        self.states.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_taken_once() {
        let mut tree = Tree::default();
        let mut paths = Vec::new();
        loop {
            let mut path: Vec<char> = tree.path().collect();
            while path.len() < 2 && path.first() != Some(&'b') {
                path.extend(tree.branch(vec!['a', 'b']));
            }
            paths.push(String::from_iter(path));
            if !tree.next_path() {
                break;
            }
        }
        assert_eq!(paths, ["aa", "ab", "b"]);
        assert_eq!(tree.branch(Vec::<char>::new()), None);
    }

    #[test]
    fn a_state_is_new_again_with_more_preemptions_left() {
        let mut visited = Visited::default();
        let state = Fingerprint::of("state");
        assert_eq!([0, 0, 2, 1, 2].map(|left| visited.is_new(state, left)), [true, false, true, false, false]);
        assert_eq!(visited.count(), 1);
    }
}
