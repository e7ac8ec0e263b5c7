// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each header compiles by itself in every dialect, with plain names and without, and with the types of another header.

use std::fs;
use std::process::Command;

use crate::commands::{output, run};
use crate::install::{prefix, scratch};

/// Every header that is installed.
pub const HEADERS: [&str; 12] = [
    "types",
    "errors",
    "interlockedapi",
    "ntstatus",
    "synchapi",
    "threadapi",
    "threadpool",
    "memoryapi",
    "ioapiset",
    "descriptors",
    "nt",
    "refused",
];
const STRICT: [&str; 7] = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-Wundef", "-fsyntax-only"];

/// One file that includes all of them, each twice.
fn compile(compiler: &str, dialect: &str, more: &[&str], text: &str) -> (bool, String) {
    let suffix = if compiler == "cc" { "c" } else { "cc" };
    let source = scratch(&format!("header-{}-{dialect}-{}", text.len(), more.join(""))).join(format!("all.{suffix}"));
    fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    command.args(STRICT).arg(format!("-std={dialect}")).args(more).arg("-I").arg(prefix().join("include")).arg(&source);
    let (result, text) = run(&mut command);
    (result.status.success(), text)
}

fn includes(order: impl Iterator<Item = &'static str>) -> String {
    let lines = order.map(|header| format!("#include <ntux/win/{header}.h>\n#include <ntux/win/{header}.h>\n"));
    lines.collect::<String>() + "int nothing;\n"
}

#[test]
fn they_compile_as_c_and_as_cxx() {
    for (compiler, dialects) in
        [("cc", &["c90", "c99", "c11", "c17", "c2x"][..]), ("c++", &["c++98", "c++11", "c++17", "c++20"])]
    {
        for dialect in dialects {
            for names in [&[][..], &["-DNTUX_WIN32_NAMES"], &["-DNTUX_WIN32_NAMES", "-DUNICODE"]] {
                let (compiled, text) = compile(compiler, dialect, names, &includes(HEADERS.into_iter().rev()));
                assert!(compiled, "{compiler} {dialect} {names:?}: {text}");
            }
        }
    }
}

#[test]
fn a_programs_own_types_take_the_place_of_ours() {
    let types = scratch("own-types").join("own_types.h");
    let ours = fs::read_to_string(prefix().join("include/ntux/win/types.h")).unwrap();
    let (_, rest) = ours.split_once("#else\n").unwrap();
    let (definitions, _) = rest.split_once("#endif /* NTUX_WIN_TYPES */").unwrap();
    let chosen = format!("-DNTUX_WIN_TYPES=\"{}\"", types.display());
    let of = |text: &str, (compiler, dialect), has: &[&str]| {
        fs::write(&types, text).unwrap();
        compile(compiler, dialect, &[&[chosen.as_str()], has].concat(), &includes(HEADERS.into_iter()))
    };
    let languages = [("cc", "c90"), ("cc", "c99"), ("c++", "c++98"), ("c++", "c++17")];
    for language in languages {
        let (compiled, text) = of(definitions, language, &[]);
        assert!(compiled, "{language:?}: {text}");
    }
    // A LONG of 64 bits, which Windows never has.
    let (compiled, text) = of(&definitions.replace("typedef int LONG;", "typedef long LONG;"), languages[1], &[]);
    assert!(!compiled && text.contains("ntux_win_sizes"), "{text}");
    // Locks of its own: each alone, and all of them.
    let own_locks = [
        (
            "CRITICAL_SECTION",
            "typedef struct { PVOID a[5]; } CRITICAL_SECTION, *PCRITICAL_SECTION, *LPCRITICAL_SECTION;\n",
        ),
        ("SRWLOCK", "typedef struct { PVOID a; } SRWLOCK, *PSRWLOCK;\n"),
        ("CONDITION_VARIABLE", "typedef struct { PVOID a; } CONDITION_VARIABLE, *PCONDITION_VARIABLE;\n"),
        (
            "INIT_ONCE",
            "typedef struct { PVOID a; } INIT_ONCE, *PINIT_ONCE, *LPINIT_ONCE;\n\
             typedef BOOL(*PINIT_ONCE_FN)(PINIT_ONCE once, PVOID parameter, PVOID *context);\n",
        ),
        ("BARRIER", "typedef struct { PVOID a[4]; } SYNCHRONIZATION_BARRIER, *LPSYNCHRONIZATION_BARRIER;\n"),
    ];
    for (lock, own) in own_locks {
        let text = format!("{definitions}{own}");
        let (compiled, said) = of(&text, languages[1], &[&format!("-DNTUX_WIN_TYPES_HAVE_{lock}")]);
        assert!(compiled, "{lock}: {said}");
        // Not said, there are two of the name.
        assert!(!of(&text, languages[1], &[]).0, "{lock} twice");
    }
    let all: String = own_locks.iter().map(|(_, own)| *own).collect();
    for language in languages {
        let (compiled, text) = of(&format!("{definitions}{all}"), language, &["-DNTUX_WIN_TYPES_HAVE_LOCKS"]);
        assert!(compiled, "{language:?}: {text}");
    }
    let (compiled, _) = of(definitions, languages[1], &["-DNTUX_WIN_TYPES_HAVE_LOCKS"]);
    assert!(!compiled, "there are no locks");
}

#[test]
fn a_programs_own_types_of_pools_take_the_place_of_ours() {
    let types = scratch("own-pool-types").join("own_pool_types.h");
    let ours = fs::read_to_string(prefix().join("include/ntux/win/threadpool.h")).unwrap();
    let (_, rest) = ours.split_once("#else\n").unwrap();
    let (definitions, _) = rest.split_once("#endif /* NTUX_WIN_POOL_TYPES */").unwrap();
    // A pool by another name, and an environment that is laid out in another way.
    let (definitions, environment) = definitions.split_once("typedef struct _TP_CALLBACK_ENVIRON_V3").unwrap();
    assert!(environment.contains("PTP_CALLBACK_ENVIRON;"));
    let own = definitions.replace("struct _TP_POOL ", "struct S_TP_POOL ");
    let own = format!("{own}typedef struct {{ PTP_POOL Pool; }} TP_CALLBACK_ENVIRON, *PTP_CALLBACK_ENVIRON;\n");
    fs::write(&types, own).unwrap();
    let chosen = format!("-DNTUX_WIN_POOL_TYPES=\"{}\"", types.display());
    let work = "PTP_WORK use(PTP_WORK_CALLBACK callback, PTP_CALLBACK_ENVIRON own)\n{\n    \
                TP_CALLBACK_ENVIRON_V3 environ;\n    ntw_InitializeThreadpoolEnvironment(&environ);\n    \
                environ.Pool = own->Pool;\n    return ntw_CreateThreadpoolWork(callback, 0, ENVIRON);\n}\n";
    let of = |environ: &str| {
        let text = includes(HEADERS.into_iter()) + &work.replace("ENVIRON)", &format!("{environ})"));
        compile("cc", "c99", &[&chosen], &text)
    };
    let (compiled, text) = of("&environ");
    assert!(compiled, "{text}");
    // One's own is not taken for Windows'.
    let (compiled, text) = of("own");
    assert!(!compiled && text.contains("TP_CALLBACK_ENVIRON"), "{text}");
}

#[test]
fn the_interface_of_pevents_compiles_with_plain_names_and_without() {
    let user = "#include <ntux/win/pevents.h>\nint use() { return neosmart::SetEvent(neosmart::CreateEvent()); }\n";
    for dialect in ["c++98", "c++11", "c++20"] {
        for names in [&[][..], &["-DNTUX_WIN32_NAMES"]] {
            let (compiled, text) = compile("c++", dialect, names, user);
            assert!(compiled, "{dialect} {names:?}: {text}");
        }
    }
}

#[test]
fn nothing_without_prefix_is_declared_unasked() {
    let directory = scratch("prefixes");
    let source = directory.join("all.c");
    fs::write(&source, includes(HEADERS.into_iter())).unwrap();
    let mut command = Command::new("cc");
    let text = output(command.args(["-E", "-P", "-I"]).arg(prefix().join("include")).arg(&source));
    assert!(text.contains("ntw_SetEvent(") && !text.contains(" SetEvent("));
}
