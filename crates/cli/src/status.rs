// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exit statuses: every number that the command returns, and what it means for each subcommand. A situation has the same status in all.
/// Something is wrong, or cannot be had: a deadlock, a machine on which programs cannot be served.
pub const NO: u8 = 1;
/// The process has no objects of ntux.
pub const NOTHING_THERE: u8 = 2;
/// ntux itself failed, as for `env` and `timeout`.
pub const NTUX_FAILED: u8 = 125;
/// The program exists but cannot be started.
pub const CANNOT_START: u8 = 126;
/// There is no such program.
pub const NOT_FOUND: u8 = 127;

/// What a subcommand returns.
pub struct Statuses {
    pub command: &'static str,
    /// The status, in words if it is not one number; and when.
    pub when: &'static [(&'static str, &'static str)],
}

const OPTIONS: (&str, &str) = ("125", "ntux itself failed: wrong options, or its output cannot be written.");
const NO_TARGET: (&str, &str) = (
    "125",
    "It cannot be looked at: there is no such process, or you may not, or the file is no arena of this version.",
);
const NO_OBJECTS: (&str, &str) = ("2", "The process has no objects of ntux.");
const PROGRAMS_OWN: (&str, &str) = ("PROGRAM's", "It was started.");
const NOT_STARTED: (&str, &str) =
    ("126", "PROGRAM was found, but cannot be started: it may not be executed, for instance.");
const NO_PROGRAM: (&str, &str) = ("127", "PROGRAM was not found.");
const NO_LIBRARY: (&str, &str) = ("125", "ntux itself failed: wrong options, or its library was not found.");

/// All of them, in the order of `ntux help`.
pub const ALL: [Statuses; 11] = [
    Statuses { command: "run", when: &[PROGRAMS_OWN, NO_LIBRARY, NOT_STARTED, NO_PROGRAM] },
    Statuses {
        command: "doctor",
        when: &[
            ("0", "Programs on this machine, or PROGRAM, can be served."),
            ("1", "They cannot, and the report says why."),
            OPTIONS,
        ],
    },
    Statuses { command: "ps", when: &[("0", "It listed what there is."), ("125", "An arena could not be read.")] },
    Statuses { command: "inspect", when: &[("0", "It showed objects."), NO_OBJECTS, NO_TARGET] },
    Statuses {
        command: "why",
        when: &[
            ("0", "Nothing is wrong."),
            ("1", "A deadlock, or something else that will not pass by itself."),
            NO_OBJECTS,
            NO_TARGET,
        ],
    },
    Statuses { command: "top", when: &[("0", "You left it, or it showed one picture."), NO_OBJECTS, NO_TARGET] },
    Statuses {
        command: "trace",
        when: &[
            ("0", "With PID: it recorded waits."),
            ("2", "With PID: the process has no objects of ntux."),
            ("125", "The process could not be traced, or a file cannot be written."),
            PROGRAMS_OWN,
            NOT_STARTED,
            NO_PROGRAM,
        ],
    },
    Statuses { command: "report", when: &[("0", "The archive was written."), OPTIONS] },
    Statuses {
        command: "bench",
        when: &[
            ("0", "Everything was measured."),
            ("1", "A measurement failed, and the report says which."),
            ("125", "The benchmark is not installed, or could not be started."),
        ],
    },
    Statuses {
        command: "watch",
        when: &[
            PROGRAMS_OWN,
            NO_LIBRARY,
            ("126", "PROGRAM cannot be started, or nothing can be loaded into it."),
            NO_PROGRAM,
        ],
    },
    Statuses { command: "help", when: &[("0", "It explained."), ("125", "There is no help on that.")] },
];

/// What surrounds the list in `ntux help exit-status`, and in the page.
pub const ABOUT: &str = "ntux run replaces itself by PROGRAM, so no ntux process remains: signals reach the program directly, and \
                         the caller sees the program's exit status, or the signal that ended it. A program into which \
                         nothing can be loaded still runs, and ntux says why on standard error: one that is statically \
                         linked, made for another kind of processor, set-user-id, set-group-id, or has file capabilities. \
                         ntux watch and ntux trace keep running beside the program: they pass on signals sent to them \
                         alone, and end as the program ends, by the same signal if it was one. A command that cannot write \
                         a file leaves what was there before, and returns 125; ntux trace and ntux watch with a program \
                         return that only if the program itself succeeded.";

/// The end of a subcommand's help.
pub fn below_help(command: &str) -> Option<String> {
    let statuses = ALL.iter().find(|statuses| statuses.command == command)?;
    let lines = statuses.when.iter().map(|(code, when)| format!("  {code:<10} {when}"));
    Some(format!("Exit status:\n{}", lines.collect::<Vec<_>>().join("\n")))
}
