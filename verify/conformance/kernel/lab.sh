# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
# What others give and what others use; commas are QEMU's; the scripts that source this end at the first error.
# shellcheck disable=SC2034,SC2054,SC2154,SC2164
# The laboratory: a Debian kernel, an emulator, and how to run programs in it. To be sourced.
#
# For Debian and its kin: kernel and emulator are fetched with apt from the mirror that the machine uses; nothing is
# installed. Uses $lab, the directory that keeps everything (a second run fetches nothing), and $suite, whose kernel it is.

processor=${processor:-x86_64} # of the emulated machine
target=$processor-unknown-linux-gnu
emulator=$lab/emulator

# Debian's names, the emulated machine, its console, and its line for what is kept.
case $processor in
x86_64)
    architecture=amd64 qemu=qemu-system-x86 console=ttyS0 keeping=ttyS1
    machine=(-M pc -cpu max -serial chardev:kept)
    ;;
aarch64)
    architecture=arm64 qemu=qemu-system-arm console=ttyAMA0 keeping=ttyS0
    # The signatures of its pointers are not the architecture's, which are slow to emulate.
    machine=(-M virt -cpu max,pauth-impdef=on -device pci-serial,chardev=kept)
    ;;
esac

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}

check_host() {
    local tool
    [ "$(uname -m)" = x86_64 ] || fail "it works on x86-64 only, this machine is $(uname -m)"
    for tool in apt-get apt-cache dpkg; do
        command -v $tool > /dev/null || fail "there is no $tool: kernel and emulator are fetched from Debian packages"
    done
    for tool in xz gzip strip; do
        command -v $tool > /dev/null || fail "there is no $tool; on Debian: apt-get install xz-utils gzip binutils"
    done
}

# What apt said is shown only if it failed.
quietly() {
    local what=$1 log=$lab/fetch.log
    shift
    "$@" > "$log" 2>&1 && return
    tail -n 5 "$log" >&2
    fail "cannot fetch $what; what apt said stands above. If it knows no such package: apt-get update." \
        "Without a network: copy the directory $lab from a machine where this once ran"
}

# Sets $apt to what makes apt know $suite, for the emulated machine's processor, and nothing else.
know_suite() {
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/$' | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no Debian mirror (apt-get indextargets)"
    apt=$lab/apt
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
    touch "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$apt/sources.list"
    apt=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt/state"
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root
        -o APT::Architecture="$architecture" -o APT::Architectures="$architecture")
    quietly "the package list of Debian $suite" apt-get "${apt[@]}" --quiet=2 --error-on=any update
}

fetch_kernel() {
    local apt image package packages
    echo "fetching the kernel of Debian $suite"
    know_suite
    image=$(apt-cache "${apt[@]}" depends "linux-image-$architecture" | sed -n 's/.*Depends: linux-image-//p')
    [ -n "$image" ] || fail "Debian $suite has no linux-image-$architecture"
    # Later suites have a package for the kernel itself and one for the modules.
    packages=("linux-binary-$image" "linux-modules-$image")
    [ -n "$(apt-cache "${apt[@]}" pkgnames "${packages[0]}")" ] || packages=("linux-image-$image")
    [ "$architecture" = amd64 ] || packages+=(busybox-static)
    cd "$lab"
    quietly "the kernel, and busybox for it" apt-get "${apt[@]}" --quiet=2 download "${packages[@]}"
    cd "$OLDPWD"
    rm -rf "$lab/kernel.part"
    mkdir "$lab/kernel.part"
    for package in "$lab"/*.deb; do
        # No package has all of it, and older ones have no driver.
        dpkg --fsys-tarfile "$package" |
            tar -xC "$lab/kernel.part" --wildcards '*/vmlinuz*' '*/ntsync.ko.xz' '*bin/busybox' 2> "$lab/fetch.log" || true
    done
    rm "$lab"/*.deb
    [ -n "$(find "$lab/kernel.part" -name 'vmlinuz*')" ] || fail "there is no kernel in ${packages[*]}"
    mv "$lab/kernel.part" "$lab/kernel"
}

fetch_emulator() {
    local archives=$lab/archives package
    echo "fetching QEMU and busybox"
    rm -rf "$archives" "$emulator.part"
    mkdir -p "$archives/partial"
    # Apt fetches only what is not installed; what is installed is used from where it is. Nothing is changed, so nothing
    # need be locked, and anybody may do it.
    quietly "QEMU and busybox" apt-get --quiet=2 -o Debug::NoLocking=1 -o APT::Sandbox::User=root install --yes --no-install-recommends --download-only \
        -o Dir::Cache::archives="$archives" "$qemu" busybox-static
    for package in "$archives"/*.deb; do
        [ -e "$package" ] && dpkg --extract "$package" "$emulator.part"
    done
    rm -r "$archives"
    mkdir -p "$emulator.part"
    mv "$emulator.part" "$emulator"
}

# The path of a program or a directory: the fetched one, or the installed one.
of_emulator() {
    local found
    for found in "$emulator/$1" "/$1"; do
        [ -e "$found" ] && echo "$found" && return
    done
    fail "there is no $1, neither in $emulator nor installed"
}

# The machine's disk: busybox, the module, and what the caller puts into it. It runs the script /run and switches off.
make_root() {
    local module
    root=$lab/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,proc,tmp}
    if [ "$architecture" = amd64 ]; then
        cp "$(of_emulator bin/busybox)" "$root/bin/"
    else
        find "$lab/kernel/" -path '*bin/busybox' -exec cp {} "$root/bin/" \;
    fi
    find "$lab/kernel/" -name ntsync.ko.xz | while read -r module; do
        xz --decompress --stdout "$module" > "$root/ntsync.ko"
    done
    cat > "$root/init" <<'INIT'
#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
busybox mount -t tmpfs tmp /tmp
busybox stty -F /dev/KEEPING raw
[ ! -e /ntsync.ko ] || busybox insmod /ntsync.ko
echo # the console starts with what the firmware said
echo "kernel $(busybox uname -r)"
# What is to be kept as it is goes through the second line.
keep() { busybox gzip -1 > /dev/KEEPING; }
export RUST_BACKTRACE=0
. /run
busybox poweroff -f
INIT
    sed -i "s/KEEPING/$keeping/" "$root/init"
    chmod +x "$root/init"
}

# boot NAME OPTIONS...: runs the root, shows its console, and leaves what it kept in $lab/NAME.kept. QEMU emulates code that
# a kernel patches while another processor runs it not quite well: a kernel that panics is booted once more.
boot() {
    local attempt
    for attempt in 1 2 3; do
        boot_once "$@"
        grep -q 'Kernel panic' "$lab/$1.console" || return 0
        echo "the emulated kernel panicked (attempt $attempt of 3); its console: $lab/$1.panic"
        mv "$lab/$1.console" "$lab/$1.panic"
    done
    fail "the emulated kernel panics each time"
}

boot_once() {
    local name=$1 kernel libraries
    shift
    (cd "$root" && find . | "$(of_emulator bin/busybox)" cpio -o -H newc) 2> "$lab/cpio.log" | gzip -1 > "$lab/image.gz"
    kernel=$(find "$lab/kernel/" -name 'vmlinuz*' | head -n 1)
    libraries=$(find "$emulator/" -name '*.so*' -printf '%h\n' | sort -u | paste -sd :)
    LD_LIBRARY_PATH=$libraries timeout 3600 "$(of_emulator "usr/bin/qemu-system-$processor")" \
        -L "$emulator/usr/share/qemu" -L "$emulator/usr/share/seabios" -L /usr/share/qemu -L /usr/share/seabios \
        -chardev "file,id=kept,path=$lab/$name.kept.gz" -nodefaults -nographic -serial stdio "${machine[@]}" \
        -m "${memory:-512}" -no-reboot -kernel "$kernel" -initrd "$lab/image.gz" \
        -append "console=$console quiet panic=-1 rdinit=/init" "$@" |
        sed -u 's/\r$//' | tee "$lab/$name.console"
    gzip --decompress --stdout "$lab/$name.kept.gz" > "$lab/$name.kept" 2> /dev/null || true # nothing may be kept
}

# The emulator as fast as it gets, on two processors.
fast=(-accel tcg,thread=multi -smp 2)
# The emulator as a counter: its clock advances by one nanosecond with each instruction, and stands still in between.
counting=(-accel tcg -smp 1 -icount shift=0,sleep=off)
