// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the seeds to where libFuzzer begins: `seeds DIRECTORY`, with a folder for each parser.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).expect("usage: seeds DIRECTORY"));
    let planted = ("planted", ntux_fuzz::seeds::programs as fn() -> Vec<Vec<u8>>);
    let targets = ntux_fuzz::TARGETS.iter().map(|target| (target.name, target.seeds));
    for (name, seeds) in targets.chain([planted]) {
        let folder = directory.join(name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in seeds().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
