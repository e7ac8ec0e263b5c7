// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which mechanisms can watch writes here, and what the chosen one sees.

use ntux_platform::command::probe;
use ntux_platform::environment;
use ntux_platform::watching::pagemap::Pagemap;
use ntux_watch::Mechanism as Tried;
use serde::Serialize;

#[derive(Serialize)]
pub struct Watch {
    /// In the order of choice; last the ones that are used only on request.
    pub mechanisms: Vec<Mechanism>,
    /// `async`, `sync`, `mprotect`, `cow`, or nothing.
    pub chosen: Option<&'static str>,
    pub why: String,
    pub soft_dirty: SoftDirty,
}

/// Soft-dirty bits, which a program sees in `/proc/self/pagemap`.
#[derive(Serialize)]
pub struct SoftDirty {
    /// The kernel has them.
    pub by_kernel: bool,
    /// `ntux run --soft-dirty` gives them to a program.
    pub by_ntux: bool,
    pub meaning: &'static str,
}

#[derive(Serialize)]
pub struct Mechanism {
    pub name: &'static str,
    pub works: bool,
    pub errno: Option<i32>,
    pub meaning: String,
    /// What it sees here, and what it does not.
    pub capabilities: Vec<Capability>,
}

#[derive(Serialize)]
pub struct Capability {
    pub name: &'static str,
    pub has: bool,
    pub meaning: &'static str,
}

impl Watch {
    /// Tries each mechanism: a page must be written, reported, reset, and clean.
    pub fn gather() -> Watch {
        let wish = std::env::var(environment::text(environment::WATCH)).ok();
        Watch {
            mechanisms: Tried::ALL.into_iter().map(Mechanism::try_out).collect(),
            chosen: Tried::choose().ok().filter(|chosen| chosen.probe().is_ok()).map(Tried::name),
            why: match wish {
                Some(wish) => format!("because NTUX_WATCH={wish}"),
                None => "the first of async, sync and mprotect that works".to_owned(),
            },
            soft_dirty: SoftDirty::gather(),
        }
    }
}

impl SoftDirty {
    fn gather() -> SoftDirty {
        let by_kernel = Pagemap::open().and_then(|pagemap| pagemap.has_soft_dirty()).unwrap_or(false);
        let wished =
            std::env::var_os(environment::text(environment::WATCH)).is_none_or(|name| name == Tried::Async.name());
        let by_ntux = wished && Tried::Async.probe().is_ok();
        let meaning = match (by_kernel, by_ntux) {
            (true, true) => "the kernel has them; ntux run --soft-dirty gives programs those of ntux",
            (true, false) => {
                "the kernel has them; ntux run --soft-dirty cannot, as async does not work or is not wanted"
            }
            (false, true) => "the kernel has none; ntux run --soft-dirty gives them to programs",
            (false, false) => "the kernel has none, and ntux run --soft-dirty needs async",
        };
        SoftDirty { by_kernel, by_ntux, meaning }
    }
}

impl Mechanism {
    fn try_out(mechanism: Tried) -> Mechanism {
        let answer = mechanism.probe();
        let meaning = match answer {
            Ok(()) => purpose(mechanism).to_owned(),
            Err(error) if uses_userfaultfd(mechanism) && userfaultfd_kills() => {
                format!(
                    "{error}: a filter kills programs for userfaultfd, so ntux never calls it; it needs {}",
                    needs(mechanism)
                )
            }
            Err(error) => format!("{error}; it needs {}", needs(mechanism)),
        };
        let capabilities = mechanism.capabilities().into_iter().map(|capability| Capability {
            name: capability.name,
            has: capability.has,
            meaning: capability.meaning,
        });
        Mechanism {
            name: mechanism.name(),
            works: answer.is_ok(),
            errno: answer.err().map(ntux_watch::Error::errno),
            meaning,
            capabilities: capabilities.collect(),
        }
    }
}

fn uses_userfaultfd(mechanism: Tried) -> bool {
    matches!(mechanism, Tried::Async | Tried::Sync)
}

fn userfaultfd_kills() -> bool {
    matches!(probe::userfaultfd(), probe::Answer::Kills(_))
}

fn purpose(mechanism: Tried) -> &'static str {
    match mechanism {
        Tried::Async => "the kernel keeps the list (userfaultfd, PAGEMAP_SCAN)",
        Tried::Sync => "a thread of the program keeps the list (userfaultfd)",
        Tried::Cow => {
            "the kernel copies written pages (memory files); never chosen unless NTUX_WATCH or the program names it: a \
             reset loses what is stored meanwhile to pinned pages (O_DIRECT, io_uring's registered buffers), and written \
             pages take twice the memory"
        }
        _ => "a signal handler keeps the list (page protection)",
    }
}

fn needs(mechanism: Tried) -> &'static str {
    match mechanism {
        Tried::Async => "Linux 6.7, /proc, and no filter that refuses userfaultfd",
        Tried::Sync => "Linux 6.4, and no filter that refuses userfaultfd",
        Tried::Cow => "memory files and /proc",
        _ => "mprotect",
    }
}
