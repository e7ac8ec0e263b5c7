# SPDX-License-Identifier: MIT OR Apache-2.0
# The command (doctor and bench), its pages and the C library, for macOS; the device is Linux's. It is nowhere to be fetched from
# yet: brew install --build-from-source --formula packaging/homebrew/ntux.rb needs the archive beside the formula, and its sha256.
class Ntux < Formula
  desc "Synchronization objects of Windows NT in user space"
  homepage ""
  url "file://#{__dir__}/ntux-0.1.0.tar.gz" # git archive --prefix=ntux-0.1.0/ -o ntux-0.1.0.tar.gz HEAD
  version "0.1.0"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on macos: :ventura

  def install
    system "make", "build", "PREFIX=#{prefix}"
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    (testpath/"event.c").write <<~C
      #include <ntux.h>
      int main(void) {
        ntux_arena *arena;
        ntux_object done;
        if (ntux_arena_create(64, 64, &arena) != 0) return 1;
        if (ntux_event_create(arena, 0, 0, &done) != 0) return 2;
        return ntux_event_set(arena, done, 0) != 0;
      }
    C
    system ENV.cc, "event.c", "-I#{include}", "-L#{lib}", "-lntux", "-o", "event"
    system "./event"
  end
end
