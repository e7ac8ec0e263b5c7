// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn mappings_are_told_apart() {
    let data = Mapped::parse("7ffd0000-7ffd8000 rw-p 00000000 00:00 0 ").expect("a mapping");
    assert!(is_private_data(&data) && path(&data).is_none() && (data.start, data.end) == (0x7ffd_0000, 0x7ffd_8000));
    let program = "140003000-140004000 rw-p 00002000 fe:00 1027    /home/user/my game/game.exe";
    let program = Mapped::parse(program).expect("a mapping");
    assert_eq!((is_private_data(&program), path(&program)), (false, Some("/home/user/my game/game.exe")));
    assert!(is_data_of_file(&program) && !is_data_of_file(&data));
    for line in ["", "7ffd8000-7ffd0000 rw-p 0 0 0", "x-y rw-p"] {
        assert_eq!(Mapped::parse(line), None, "{line}");
    }
}
