//! Two looks at an arena, and what /proc said between them.

use std::collections::HashMap;
use std::time::Duration;

use ntux_sync::Result;
use ntux_sync::inspect::Snapshot;
use ntux_sync::inspect::why::{Case, Fate};

use crate::arenas::find::Opened;
use crate::arenas::processes::Census;
use crate::arenas::scene::{Names, Scene, fates};

/// Between the two looks: longer than an operation is half-way, unless its thread is stopped or does not get a processor.
const APART: Duration = Duration::from_millis(100);

/// An arena that was looked at twice.
pub struct Examined {
    before: Snapshot,
    /// The second look.
    pub scene: Scene,
    fates: HashMap<u32, Fate>,
}

impl Examined {
    /// Looks at several arenas, with one pause for all.
    ///
    /// Errors: those of a snapshot.
    pub fn all(arenas: &[Opened], census: &mut Census) -> Result<Vec<Examined>> {
        let first = |arena: &Opened| {
            let before = arena.view.snapshot()?;
            // Before the second look: an owner that had ended then had not unlocked before.
            let names = Names::of(&before.peers, census).with_descriptors(arena.view.file());
            Ok((before, names))
        };
        let first: Vec<(Snapshot, Names)> = arenas.iter().map(first).collect::<Result<_>>()?;
        std::thread::sleep(APART);
        let second = |(Opened { view, .. }, (before, names)): (&Opened, (Snapshot, Names))| {
            let fates = fates(&before, &names);
            let scene = Scene { file: view.file(), snapshot: view.snapshot()?, names };
            Ok(Examined { before, scene, fates })
        };
        arenas.iter().zip(first).map(second).collect()
    }

    pub fn case(&self) -> Case<'_> {
        Case::new(&self.before, &self.scene.snapshot, self.fates.clone())
    }
}
