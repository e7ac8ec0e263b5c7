// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/output.rs`.

use super::*;

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ntux-output-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_there_when_it_is_whole_and_until_then_what_was_there() {
    let directory = Directory::new("whole");
    let (file, link) = (directory.0.join("file"), directory.0.join("link"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink("file", &link).unwrap();
    let mut output = Output::create(&link).unwrap();
    output.write_all(b"new").unwrap();
    output.flush().unwrap();
    assert_eq!(
        (fs::read(&file).unwrap(), fs::read(directory.0.join("file.part")).unwrap()),
        (b"old".into(), b"new".into())
    );
    output.finish().unwrap();
    assert_eq!(
        (fs::read(&file).unwrap(), names(&directory.0)),
        (b"new".into(), vec!["file".into(), "link".to_owned()])
    );
    let mut output = Output::create(&file).unwrap();
    output.write_all(b"nothing").unwrap();
    drop(output);
    assert_eq!((fs::read(&file).unwrap(), names(&directory.0).len()), (b"new".into(), 2));
}

#[test]
fn what_is_no_file_is_written_where_it_is_and_a_full_disk_is_said() {
    write(Path::new("/dev/null"), "anything").unwrap();
    let error = write(Path::new("/dev/full"), "anything").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(error.to_string().contains("/dev/full") && Path::new("/dev/full").exists(), "{error}");
    assert!(Output::create(Path::new("/")).is_err());
}

#[test]
fn of_two_that_write_one_file_one_is_told() {
    let directory = Directory::new("two");
    let file = directory.0.join("file");
    let (mut one, mut two) = (Output::create(&file).unwrap(), Output::create(&file).unwrap());
    one.write_all(b"one").unwrap();
    two.write_all(b"two").unwrap();
    assert!(one.finish().is_err());
    // The first one has taken the other's part away with its own name.
    assert!(two.finish().is_err() || fs::read(&file).unwrap() == b"two");
}
