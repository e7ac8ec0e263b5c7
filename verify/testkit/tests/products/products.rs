// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the tests of this workspace have Cargo build a library of the product.

use std::path::{Path, PathBuf};

/// For proofs that were built in this target directory: where the tests of the product build the same, if it is `verify/target`, so that it
/// is compiled once; else that directory, whose compiler may have been given other flags.
pub fn products(proofs: &Path) -> PathBuf {
    let verify = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match (proofs.canonicalize(), verify.join("target").canonicalize()) {
        (Ok(found), Ok(own)) if found == own => verify.join("../target"),
        _ => proofs.to_owned(),
    }
}
