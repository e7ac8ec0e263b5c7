// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two snapshots of an arena, and what /proc said between them.

use std::time::{Duration, Instant};

use ntux_sync::Result;
use ntux_sync::inspect::why::{Case, Finding};
use ntux_sync::inspect::{ObjectView, Snapshot};

use super::find::Opened;
use super::processes::PeerProcesses;
use super::scene::{Fates, Names, Scene};

/// The time between the two snapshots: longer than an operation takes, unless its thread is stopped or gets no
/// processor.
const APART: Duration = Duration::from_millis(100);
/// The time until a third one, if what was found passes by itself once some thread gets a processor: longer than a busy machine, or one
/// that gives its programs a share of each tenth of a second, lets a thread wait for that.
const LATER: Duration = Duration::from_millis(900);

/// An arena with its two snapshots.
pub struct Examined {
    before: Snapshot,
    /// The second snapshot.
    pub scene: Scene,
    fates: Fates,
    apart: Duration,
}

impl Examined {
    /// Looks at several arenas, with one pause for all.
    ///
    /// Errors: those of a snapshot.
    pub fn all(arenas: &[Opened], peer_processes: &mut PeerProcesses) -> Result<Vec<Examined>> {
        let first = |arena: &Opened| {
            let before = arena.view.snapshot()?;
            // Before the second snapshot: an owner that has ended by now did not unlock in between.
            let names = match arena.is_copy {
                true => Names::default(),
                false => Names::of(&before.peers, peer_processes).with_descriptors(arena.view.file()),
            };
            Ok((before, names))
        };
        let start = Instant::now();
        let first: Vec<(Snapshot, Names)> = arenas.iter().map(first).collect::<Result<_>>()?;
        std::thread::sleep(APART);
        let second = |(arena, (before, names))| Examined::again(arena, before, names, start);
        let mut examined: Vec<Examined> = arenas.iter().zip(first).map(second).collect::<Result<_>>()?;
        let may_pass = |(arena, examined): (&Opened, &Examined)| !arena.is_copy && examined.may_pass();
        if arenas.iter().zip(&examined).any(may_pass) {
            std::thread::sleep(LATER);
            let third = |(arena, seen): (&Opened, Examined)| match may_pass((arena, &seen)) {
                true => {
                    let names = Names::of(&seen.before.peers, peer_processes).without_moments_since(&seen.scene.names);
                    Examined::again(arena, seen.before, names.with_descriptors_of(seen.scene.names), start)
                }
                false => Ok(seen),
            };
            examined = arenas.iter().zip(examined).map(third).collect::<Result<_>>()?;
        }
        Ok(examined)
    }

    /// Takes another snapshot; the first is of the time `start`.
    fn again(arena: &Opened, before: Snapshot, names: Names, start: Instant) -> Result<Examined> {
        let Opened { view, is_copy, .. } = arena;
        let fates = match is_copy {
            true => Fates::default(),
            false => Fates::of(&before, &names).with_awake(view, &before, &names),
        };
        let mut scene = Scene::new(view, names)?;
        if *is_copy {
            scene.is_of_another_time();
        }
        Ok(Examined { before, scene, fates, apart: start.elapsed() })
    }

    fn may_pass(&self) -> bool {
        self.case().findings().iter().any(Finding::may_pass)
    }

    /// Changes in a second, for each object.
    pub fn rates(&self) -> Vec<f64> {
        rates(Some(&self.before), &self.scene.snapshot, Some(self.apart))
    }

    pub fn case(&self) -> Case<'_> {
        self.fates.case(&self.before, &self.scene.snapshot)
    }
}

/// How often each object has changed in a second. Both lists are in the order of the slots.
pub fn rates(before: Option<&Snapshot>, after: &Snapshot, elapsed: Option<Duration>) -> Vec<f64> {
    let seconds = elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64());
    let mut earlier = before.map_or(&[][..], |before| &before.objects).iter().peekable();
    let mut rate = |seen: &ObjectView| {
        while earlier.next_if(|earlier| earlier.object.index() < seen.object.index()).is_some() {}
        let earlier = earlier.next_if(|earlier| earlier.object == seen.object)?;
        (seconds > 0.0).then(|| seen.changes_since(earlier) as f64 / seconds)
    };
    after.objects.iter().map(|seen| rate(seen).unwrap_or(0.0)).collect()
}
