#!/bin/bash
# Judges the real driver: boots a kernel that has it in an emulator and runs the device program there.
#
#   real-driver.sh DIRECTORY [FILTER...]
#
# DIRECTORY keeps what was fetched (150 MB) and built. FILTER goes to the program, such as a part of a case's name.
# For Debian and its kin: fetches kernel and emulator with apt, from the mirror that the machine uses, and installs
# nothing. A run takes half a minute. Ends with success only if every case passed.
set -euo pipefail

lab=$(mkdir -p "${1:?a directory}" && cd "$1" && pwd)
shift
crate=$(cd "$(dirname "$0")" && pwd)
suite=${KERNEL_SUITE:-sid} # the kernel of a stable suite may be older than the driver (6.14)

fetch_kernel() {
    local mirror apt image
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/$' | head -n 1)
    apt=$lab/apt
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
    touch "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$apt/sources.list"
    apt=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt/state"
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
    apt-get "${apt[@]}" --quiet=2 update
    image=$(apt-cache "${apt[@]}" depends linux-image-amd64 | sed -n 's/.*Depends: linux-image-//p')
    (cd "$lab" && apt-get "${apt[@]}" --quiet=2 download "linux-binary-$image" "linux-modules-$image")
    dpkg --extract "$lab"/linux-binary-*.deb "$lab/kernel.part"
    dpkg --fsys-tarfile "$lab"/linux-modules-*.deb | tar -xC "$lab/kernel.part" --wildcards '*/ntsync.ko.xz'
    rm "$lab"/linux-*.deb
    mv "$lab/kernel.part" "$lab/kernel"
}

fetch_emulator() {
    local archives=$lab/archives package
    mkdir -p "$archives/partial"
    # Apt fetches only what is not installed; what is installed is used from where it is.
    apt-get --quiet=2 install --yes --no-install-recommends --download-only -o Dir::Cache::archives="$archives" \
        qemu-system-x86 busybox-static
    for package in "$archives"/*.deb; do
        dpkg --extract "$package" "$lab/emulator.part"
    done
    rm -r "$archives"
    mv "$lab/emulator.part" "$lab/emulator"
}

build_image() {
    local root=$lab/root target=x86_64-unknown-linux-gnu
    RUSTFLAGS='-C target-feature=+crt-static' cargo build --quiet --release --manifest-path "$crate/Cargo.toml" \
        --bin ntsync-conformance --target $target --target-dir "$lab/target"
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,proc}
    cp "$lab/emulator/bin/busybox" "$root/bin/"
    strip -o "$root/bin/ntsync-conformance" "$lab/target/$target/release/ntsync-conformance"
    find "$lab/kernel" -name ntsync.ko.xz -exec xz --decompress --stdout {} \; > "$root/ntsync.ko"
    cat > "$root/init" <<INIT
#!/bin/busybox sh
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
busybox insmod /ntsync.ko
echo "kernel \$(busybox uname -r)"
RUST_BACKTRACE=0 ntsync-conformance --test-threads=1 --color=never $* && echo EVERY CASE PASSED
busybox poweroff -f
INIT
    chmod +x "$root/init"
    (cd "$root" && find . | "$lab/emulator/bin/busybox" cpio -o -H newc) 2> "$lab/cpio.log" | gzip -1 > "$lab/image.gz"
}

boot() {
    local kernel libraries emulator=$lab/emulator/usr
    kernel=$(find "$lab/kernel" -name 'vmlinuz*' | head -n 1)
    libraries=$(find "$lab/emulator" -name '*.so*' -printf '%h\n' | sort -u | paste -sd :)
    LD_LIBRARY_PATH=$libraries timeout 600 "$emulator/bin/qemu-system-x86_64" \
        -L "$emulator/share/qemu" -L "$emulator/share/seabios" \
        -M pc -accel tcg,thread=multi -cpu max -smp 2 -m 512 -nodefaults -nographic -serial stdio -no-reboot \
        -kernel "$kernel" -initrd "$lab/image.gz" -append 'console=ttyS0 quiet panic=-1 rdinit=/init'
}

[ -d "$lab/kernel" ] || fetch_kernel
[ -d "$lab/emulator" ] || fetch_emulator
build_image "$@"
boot | tee "$lab/transcript"
grep -q 'EVERY CASE PASSED' "$lab/transcript"
