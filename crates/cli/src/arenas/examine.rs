//! Two snapshots of an arena, and what /proc said between them.

use std::time::{Duration, Instant};

use ntux_sync::inspect::Snapshot;
use ntux_sync::inspect::why::Case;
use ntux_sync::{Object, Result};

use super::find::Opened;
use super::processes::PeerProcesses;
use super::scene::{Fates, Names, Scene};

/// The time between the two snapshots: longer than an operation takes, unless its thread is stopped or gets no
/// processor.
const APART: Duration = Duration::from_millis(100);

/// Bits of the number of changes that an object's word keeps.
const CHANGES: u64 = (1 << 37) - 1;

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
        let second = |(Opened { view, is_copy, .. }, (before, names)): (&Opened, (Snapshot, Names))| {
            let fates = if *is_copy { Fates::default() } else { Fates::of(&before, &names) };
            let mut scene = Scene::new(view, names)?;
            if *is_copy {
                scene.is_of_another_time();
            }
            Ok(Examined { before, scene, fates, apart: start.elapsed() })
        };
        arenas.iter().zip(first).map(second).collect()
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
    let mut rate = |object: Object, version: u64| {
        let slot = |object: Object| object.0 as u32;
        while earlier.next_if(|earlier| slot(earlier.object) < slot(object)).is_some() {}
        let earlier = earlier.next_if(|earlier| earlier.object == object)?;
        (seconds > 0.0).then(|| (version.wrapping_sub(earlier.version) & CHANGES) as f64 / seconds)
    };
    after.objects.iter().map(|seen| rate(seen.object, seen.version).unwrap_or(0.0)).collect()
}
