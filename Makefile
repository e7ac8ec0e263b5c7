# SPDX-License-Identifier: MIT OR Apache-2.0
# Everything that one does with ntux from a clone. `make` alone lists the targets.
#
# Names: `test-` for what can fail because ntux is wrong, `fuzz-` for a search that goes on as long as one likes, `bench-` for measurements,
# `demo-` for programs that show something. What has no prefix makes or checks the sources.
#
#   CARGO_TARGET_DIR    where Cargo builds                target
#   PREFIX, DESTDIR     where `make install` installs     /usr/local, nothing
#   SECONDS, SEED       for what is called fuzz-          60, 1
#   PAIRS, SOAK_SECONDS what `make test-crash` does       changes, 60
#   PROOFS              what `make test-long` proves      all
#   MINUTES             how long `make test-churn` takes   60
#   KILLS               of `make test-owners`              10000000

.DEFAULT_GOAL := help
SHELL := /bin/sh
export PATH := $(PATH):$(HOME)/.cargo/bin

CARGO ?= cargo
CC ?= cc
INSTALL ?= install
PREFIX ?= /usr/local
DESTDIR ?=

TARGET_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
# The workspace of the proofs and measurements, and the model checker's way to build it.
VERIFY := --manifest-path verify/Cargo.toml
VERIFY_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),verify/target)
EXPLORED := CARGO=$(CARGO) verify/explored
# Counts what tests leave out in what it runs.
SKIPS := .ci/skips run
OUT := out
# How long, and from where on, what is called fuzz- searches.
SECONDS ?= 60
SEED ?= 1
MINUTES ?= 60
SCRIBBLE := --seconds $(SECONDS) --seed $(SEED)
DEMO_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror

# The device is Linux's, and so are its tests and the programs for it.
SYSTEM := $(shell uname -s)

# What is checked for other systems: everything that is not about the Linux device.
LIBRARIES := ntux-platform ntux-futex ntux-sync ntux-watch ntux ntux-capi ntux-win
# Whose tests other systems can run.
PORTABLE := ntux-platform ntux-futex ntux-sync ntux-watch ntux ntux-capi
OTHER_TARGETS := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin

# The C library lies where `make install` finds it, whatever CARGO_TARGET_DIR says then.
CAPI_OUT := $(abspath $(OUT))/capi
WIN_OUT := $(abspath $(OUT))/win
include crates/capi/install.mk
include crates/win/install.mk

# No target of this file is a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:
	@awk '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.* ## / { name = $$0; sub(/:.*/, "", name); sub(/^.* ## */, ""); printf "  make %-21s %s\n", name, $$0 }' \
		$(firstword $(MAKEFILE_LIST))

##@ Build and install

tools:                  ## Check for the tools that building takes
	@.ci/tools

# In place of libgcc_s.so.1, which each program would otherwise load when it starts.
UNWIND := $(abspath $(OUT))/unwind.o
$(UNWIND): packaging/unwind.c
	@mkdir -p $(OUT)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fexceptions -fasynchronous-unwind-tables -c -o $@ $<

ifeq ($(SYSTEM),Darwin)
build: tools capi win
	$(CARGO) build --release --locked -p ntux-cli
	@mkdir -p $(OUT)/bin $(OUT)/lib/ntux
	@$(INSTALL) -m 755 $(TARGET_DIR)/release/ntux $(OUT)/bin/ntux
	@$(OUT)/bin/ntux pages $(OUT)/share
else
# Only what is installed. CONTRIBUTING.md says why the rest stays apart: Two workspaces.
build: CAPI_LDFLAGS = $(UNWIND)
build: tools $(UNWIND) capi win    ## Build the command, the libraries that it loads into programs, and the C libraries, into out/
	$(CARGO) build --release --locked -p ntux-cli
	$(CARGO) rustc --release --locked -p ntux-preload -- -C link-arg=$(UNWIND)
	$(CARGO) rustc --release --locked -p ntux-preload-watch -- -C link-arg=$(UNWIND)
	@mkdir -p $(OUT)/bin
	@$(INSTALL) -m 755 $(TARGET_DIR)/release/ntux $(OUT)/bin/ntux
	@CC="$(CC)" .ci/library-tree $(TARGET_DIR)/release $(OUT)/lib/ntux
	@$(OUT)/bin/ntux pages $(OUT)/share
endif

install: install-capi install-win    ## Install what `make build` built below PREFIX (/usr/local); builds nothing, needs no Cargo
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install $(OUT)

uninstall: uninstall-capi uninstall-win    ## Remove what `make install` installed
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install --remove $(OUT)

doctor: build           ## Say what this machine can do, and what ntux would use
	@$(OUT)/bin/ntux doctor

# MACHINES=x86_64 for this processor alone. pip and rustup fetch the compiler for it, some 0.4 GB.
dist: tools             ## Archives that need glibc 2.17 or musl, Debian packages, checksums, into out/dist/; some minutes
	@CARGO=$(CARGO) packaging/dist $(OUT)/dist

# VERSION=1.2.3. CHECKS are the targets that must pass first, MACHINES those of `make dist`.
release: tools          ## Make a release of what is committed, in out/release/: commit, tag, archives, bill of materials, sums, notes
	@CARGO=$(CARGO) packaging/release "$(VERSION)" $(OUT)/release

clean:                  ## Remove what was built
	$(CARGO) clean
	rm -rf $(OUT)

##@ While you change something

format: tools           ## Format all Rust sources
	@.ci/tools tests
	$(CARGO) fmt --all
	$(CARGO) fmt --all $(VERIFY)
	$(CARGO) fmt --manifest-path demo/ntsync-crate/Cargo.toml
	$(CARGO) fmt --manifest-path verify/fuzz/libfuzzer/Cargo.toml

# Cargo compiles what has changed and what depends on it, so this is clippy and the tests of that.
quick: tools            ## For every save, a minute when warm: format, clippy, unit tests, clauses
	@$(MAKE) --no-print-directory formatted
	$(CARGO) clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(CARGO) test --quiet --locked --workspace --lib --bins
	$(CARGO) test --quiet --locked $(VERIFY) -p ntux-conformance --test clauses --test core_api

formatted:
	@.ci/tools tests
	$(CARGO) fmt --all --check
	$(CARGO) fmt --all --check $(VERIFY)
	$(CARGO) fmt --check --manifest-path demo/ntsync-crate/Cargo.toml
	$(CARGO) fmt --check --manifest-path verify/fuzz/libfuzzer/Cargo.toml

lint: formatted         ## Format, clippy, rustdoc, layers and floors, scripts, documents, figures; each check with its planted fault
	@.ci/scripts --planted
	@.ci/scripts
	@.ci/skips planted
	@.ci/skips check
	@.ci/proofs --planted
	@.ci/tools deny
	@.ci/licences --planted
	@.ci/licences
	@.ci/deny --planted
	@.ci/deny
	@.ci/layers --planted
	@.ci/layers
	@.ci/floors --planted
	@.ci/floors
	@.ci/documents --planted
	@.ci/documents
	@.ci/english --planted
	@.ci/english
	@packaging/check-recipes --planted
	@packaging/check-recipes
	@packaging/check-release
	@wine/test-apply --planted
	@verify/explored --planted
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked $(VERIFY) --all-targets -- -D warnings
	$(CARGO) clippy --locked $(VERIFY) -p ntux-xnu -- -D warnings
	$(EXPLORED) clippy -p ntux-explore -p ntux-adversary --all-targets -- -D warnings
	$(CARGO) run --quiet --locked $(VERIFY) -p ntux-bench --example figures -- --check
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --locked --no-deps --workspace --document-private-items
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --locked $(VERIFY) --no-deps --document-private-items

##@ Tests for every change

ifeq ($(SYSTEM),Darwin)
# The first says most, and soonest.
TESTS := test-self test-libraries test-bench
ALL := test
else
TESTS := test-unit test-proofs
PORTS := test-cross test-simulated-macos test-plain-builds
# The longest first, and few beside each other that wait for one another's build directory.
ALL := $(TESTS) test-simulated-macos test-crash-slice test-demo+test-bench test-cross lint test-plain-builds test-self
endif

# With CI=true what is left out must stand in .ci/known-skips.
test: tools             ## Tests and proofs on this system, at the same time; says at the end what was left out
	+@$(SKIPS) .ci/stages $(TESTS)
	@echo "make test: all passed"

test-ports: tools       ## What other systems need: plain builds, cross builds with Android and musl, macOS in simulation
	+@$(SKIPS) .ci/stages $(PORTS)
	@echo "make test-ports: all passed"

test-all: tools         ## All of that, make lint, the slice of kills, the demonstrations and a run of each measurement: what CI runs
	+@$(SKIPS) .ci/stages $(ALL)
	@echo "make test-all: all passed"

##@ Parts of them

test-unit: tools        ## The tests of the crates
	@.ci/tools tests
	$(CARGO) test --locked --workspace

test-proofs: tools      ## The short proofs: conformance, histories, every interleaving of small programs, hostile memory
	$(CARGO) test --locked $(VERIFY)
	$(EXPLORED) test -p ntux-explore
	$(EXPLORED) test -p ntux-adversary --bins --test scribble

# What users and packagers type, who do not know this file.
test-plain-builds: tools    ## Plain Cargo commands build the product, without the seam of the model checker
	@CARGO=$(CARGO) .ci/plain-builds

test-oldest-rust: tools ## Compile with exactly the oldest Rust that Cargo.toml states
	@.ci/oldest-rust

# What is linked for Macs was compiled for them: only the other processor's libraries are checked alone.
test-cross: tools       ## Compile for aarch64, macOS, Android and musl; link for Macs
	@.ci/cross "$(filter-out $(addsuffix -apple-darwin,$(or $(NTUX_MACS),aarch64 x86_64)),$(OTHER_TARGETS))" "$(LIBRARIES)"
	@.ci/cross aarch64-linux-android ntux-capi
	@.ci/cross-android --planted
	@.ci/cross-android
	@.ci/cross aarch64-unknown-linux-gnu "ntux-preload ntux-preload-watch ntux-cli"
	@.ci/cross-macos --planted $(OUT)/dist
	@.ci/cross-macos $(OUT)/dist "$(PORTABLE)" "$(LIBRARIES) ntux-cli"
	@RUSTFLAGS="-C target-feature=-crt-static" .ci/cross x86_64-unknown-linux-musl "ntux-preload ntux-preload-watch"
	$(CARGO) test --locked -p ntux-preload --test musl -- --ignored

# A slice; docs/testing/macos-simulation.md says what else runs so.
test-simulated-macos: tools    ## What macOS relies on, over a simulation of its kernel's calls
	@CARGO=$(CARGO) $(SKIPS) .ci/simulated-macos

# One step at a time, so in what ships: unoptimized code takes many times as many instructions.
test-crash-slice: tools    ## Kill and stop processes where they have just changed something; a slice of `make test-crash`
	$(CARGO) test --release --locked $(VERIFY) -p ntux-adversary --test crash

test-instructions: tools    ## Count the instructions between a claim and its decision, in what ships: 44 are allowed
	$(CARGO) test --release --locked $(VERIFY) -p ntux-adversary --test crash -- a_claim

# Also what one builds and runs first on a system that nobody has tried: docs/reference/macos.md. Its planted fault must show.
test-self: tools        ## Say in a minute what of ntux works on this machine
	$(CARGO) build --locked -p ntux --example self-test
	@$(TARGET_DIR)/debug/examples/self-test
	@mkdir -p $(OUT)
	@! $(TARGET_DIR)/debug/examples/self-test --planted > $(OUT)/self-test-planted || { echo "test-self: the planted fault is NOT found"; exit 1; }

ifneq ($(SYSTEM),Darwin)
test-demo: demo         ## The programs of `make demo`, which must notice planted faults of the device
	@demo/planted $(OUT)
endif

# The numbers do not matter.
test-bench: build bench-program    ## Each measurement of `ntux bench` can be made
	@$(OUT)/bin/ntux bench sync --quick --json > $(OUT)/bench.json
	@echo "ntux bench sync: every measurement was made"
ifneq ($(SYSTEM),Darwin)
	@$(OUT)/bin/ntux bench watch --quick --json > $(OUT)/bench-watch.json
	@echo "ntux bench watch: every measurement was made"
	@$(OUT)/bin/ntux bench futex --quick --json > $(OUT)/bench-futex.json
	@echo "ntux bench futex: every measurement was made"
endif

# Where the device cannot be: what the libraries promise on every system.
test-libraries: tools   ## The tests of the libraries that are not about Linux, and the list of conformance: on Macs
	$(SKIPS) $(CARGO) test --locked $(addprefix -p ,$(PORTABLE))
	$(SKIPS) $(CARGO) test --locked $(VERIFY) -p ntux-testkit -p ntux-conformance --lib
	$(SKIPS) $(CARGO) test --locked $(VERIFY) -p ntux-conformance --test core_api --test rust_api --test rust_async --test rust_descriptors --test c_api

##@ Long tests: which for which change, and how long, says CONTRIBUTING.md

# PROOFS="test-crash test-orders" for some of them. Hours; what they need beyond `make test-all` is fetched.
test-long: tools        ## All of them, one after the other; writes the commit on which each was green into verify/PROVED.md
	+@.ci/proofs $(PROOFS)

# Alone on the machine, please: a wake that comes later than 100 ms after a kill is a failure.
# PAIRS=every also strikes the second of two victims at every instruction, which takes hours. Victims behind which a thread must fall asleep
# first are struck where something has changed; `crash --only detached-take` strikes them everywhere, for hours, too.
PAIRS ?= changes
SOAK_SECONDS ?= 60

test-crash: tools       ## Kill and stop processes at every instruction of every operation, then at random
	$(CARGO) build --release --locked $(VERIFY) -p ntux-adversary
	$(VERIFY_DIR)/release/ntux-adversary crash --pairs $(PAIRS) --processes 0
	$(VERIFY_DIR)/release/ntux-adversary crash --random 20000 --processes 0
	RUSTFLAGS="--cfg ntux_planted $(RUSTFLAGS)" $(CARGO) test --release --locked $(VERIFY) --target-dir $(VERIFY_DIR)/planted \
		-p ntux-adversary --test crash -- a_will_that
	$(VERIFY_DIR)/release/ntux-adversary soak --seconds $(SOAK_SECONDS)
	$(VERIFY_DIR)/release/ntux-adversary domain --kills 100000

# An hour or two. The tests of ntux-adversary kill some thousand.
KILLS ?= 10000000

test-owners: tools      ## Kill ten million processes that own something, and see that they leave nothing
	$(CARGO) build --release --locked $(VERIFY) -p ntux-adversary
	$(VERIFY_DIR)/release/ntux-adversary owners --kills $(KILLS)

test-simulated-crash: tools    ## The same over macOS in simulation: every operation, where it has changed something
	CARGO=$(CARGO) verify/simulated-macos run $(VERIFY) -p ntux-adversary -- crash --slice --long

test-simulated-histories: tools    ## Histories of real threads over macOS in simulation; the checker is compiled for that
	CARGO=$(CARGO) verify/simulated-macos env env CARGO_TARGET_DIR="$(abspath $(VERIFY_DIR))/simulated-macos" \
		verify/explored run --quiet -p ntux-explore -- real --count 5000

# Some three minutes on two processors that have nothing else to do.
test-histories: tools   ## A million random histories of the core, each checked for linearizability
	$(EXPLORED) run --release -p ntux-explore -- histories --count 130000
	$(EXPLORED) run --release -p ntux-explore -- histories --count 30000 --timers
	$(EXPLORED) run --release -p ntux-explore -- histories --count 30000 --detached
	$(EXPLORED) run --release -p ntux-explore -- histories --count 30000 --owners
	$(EXPLORED) run --release -p ntux-explore -- real --count 20000

# Some minutes on one processor. The first line: the orders that the code names.
test-orders: tools      ## Weaken one memory order, drop one re-check after the other: a program must notice
	$(EXPLORED) run --release -p ntux-explore -- orders --executions 5000 --seed 2
	$(EXPLORED) run --release -p ntux-explore -- orders --executions 1000 --weaken

test-futexes: tools     ## Every schedule of the futex programs with at most two preemptions
	$(EXPLORED) run --release -p ntux-explore --example futexes -- 2 4000000

# Each of the three modes takes SECONDS with what ships; the first once more with scribbles inside the operations, and a storm with the seam.
fuzz-scribble: tools    ## Write rubbish into shared memory that others use; SECONDS=60, SEED=1
	$(CARGO) build --profile checked --locked -p ntux-preload
	$(CARGO) run --profile checked --locked $(VERIFY) -p ntux-adversary -- scribble $(SCRIBBLE) --library $(TARGET_DIR)/checked/libntux_preload.so
	$(EXPLORED) run --profile checked -p ntux-adversary -- scribble --mode alone $(SCRIBBLE)
	$(EXPLORED) run --profile checked -p ntux-adversary -- scribble --mode storm $(SCRIBBLE)

fuzz-scribble-asan: tools    ## The same under AddressSanitizer, which needs a nightly compiler
	@.ci/tools nightly
	@CARGO=$(CARGO) $(SKIPS) .ci/asan $(SCRIBBLE)

# For each parser SECONDS. A slice of it is a test of verify/fuzz.
fuzz-parsers: tools     ## Give programs, core dumps, logs and arenas of libFuzzer to what reads them; needs a nightly compiler; SECONDS=60
	@.ci/tools nightly
	@.ci/tools fuzz
	@CARGO=$(CARGO) .ci/fuzz $(SECONDS) $(SEED)

test-churn: build       ## Processes that come, end and are killed for an hour, 64 at a time, while others wait (MINUTES=60)
	@mkdir -p $(OUT)/tests
	$(CC) $(DEMO_CFLAGS) -o $(OUT)/tests/surroundings crates/preload/tests/c/surroundings.c -lpthread
	$(OUT)/bin/ntux run --device user -- $(OUT)/tests/surroundings come_and_go $$(($(MINUTES) * 60))

test-watch: tools       ## Writers against a copy that must not go stale, for minutes: every mechanism, one to eight writers
	NTUX_TEST_SHADOW_MS=15000 $(SKIPS) $(CARGO) test --locked --release -p ntux-watch --test watch shadow::no_write

# LOOKS=1000. Whatever `ntux why` says of such a program is a false alarm.
LOOKS ?= 1000
test-looks: build       ## A thousand looks of ntux why at a busy program that is well: nothing may be called wrong
	@mkdir -p $(OUT)/demo
	$(CC) $(DEMO_CFLAGS) -o $(OUT)/demo/scenes demo/inspect/scenes.c -lpthread
	@demo/inspect/looks $(OUT) $(LOOKS)

test-tsan: tools        ## What objects guard, under ThreadSanitizer; needs a nightly compiler
	@.ci/tools nightly
	@CARGO=$(CARGO) $(SKIPS) .ci/tsan

test-miri: tools        ## What Miri can run: the specification and the packing of words; needs a nightly compiler
	@.ci/tools nightly
	@CARGO=$(CARGO) $(SKIPS) .ci/miri

##@ Long tests on other kernels and machines, booted in QEMU from Debian packages

# The seed and how many programs: SEED, SINGLE, TOGETHER in the environment, see the script.
test-kernel: tools      ## Compare with the kernel's driver; some minutes
	@.ci/tools kernel
	@CARGO=$(CARGO) verify/conformance/kernel/test $(OUT)/kernel

# WINE_SOURCE, PEVENTS_SOURCE, WINPR_SOURCE, SEVENZIP_SOURCE and PALSUITE_SOURCE are trees to take the test programs from; else they are
# fetched. WRITE=--write puts the table into docs/win/suites.md. DOTNET_RUNTIME is a directory with .NET; else it is fetched.
test-win32: tools win capi    ## The Win32 face: programs of Wine, pevents, WinPR, .NET and 7-Zip, ours 600 times each, more schedules
	@$(SKIPS) $(WIN_DIR)/suites/run $(OUT) $(WRITE)
	@$(SKIPS) $(WIN_DIR)/dotnet/test $(OUT)
	$(WIN_DIR)/suites/speed $(OUT) 1 1000 > /dev/null
	$(CARGO) test --locked -p ntux-win --test c -- --ignored
	$(EXPLORED) test --release -p ntux-explore --test win -- --ignored --nocapture

# WINPR_SOURCE is a tree or a Git directory of FreeRDP; else it is fetched. JOBS is for ninja. WRITE=--write puts the counts into
# docs/win/porting.md.
test-winpr: tools win   ## WinPR's whole test run, as it is and with the patch that makes it use libntux-win; a quarter of an hour
	@$(SKIPS) $(WIN_DIR)/winpr/test $(OUT) $(WRITE)

test-soft-dirty: tools    ## The program that tests soft-dirty bits, on a kernel that has them
	@.ci/tools kernel
	@crates/preload-watch/kernel/test $(OUT)/kernel

test-old-kernels: tools ## The tests on Linux 5.10, 6.1 and 6.12
	@.ci/tools kernel
	@CARGO=$(CARGO) $(SKIPS) .ci/old-kernels $(OUT)/kernels

test-aarch64: tools     ## The tests as aarch64 programs under QEMU's user mode; some minutes
	@.ci/tools aarch64
	@CARGO=$(CARGO) $(SKIPS) .ci/aarch64 $(OUT)/aarch64

test-aarch64-kernel: tools    ## The same, and the driver, on an aarch64 kernel; a quarter of an hour
	@.ci/tools aarch64
	@.ci/tools kernel
	@CARGO=$(CARGO) $(SKIPS) .ci/aarch64-kernel $(OUT)/aarch64-kernel

test-reproducible: tools    ## Build what `make dist` builds in two places: every byte must be the same
	@CARGO=$(CARGO) packaging/test-reproducible $(OUT)/reproducible

# WINE names a Wine that is tried too: packaging/try-containers.
test-containers: demo   ## Try what docs/start/containers.md says, in sandboxes; WINE=, WINE_FILES=, WINEPREFIX= name a Wine
	@.ci/tools dist
	@WINE="$(WINE)" WINE_FILES="$(WINE_FILES)" WINEPREFIX="$(WINEPREFIX)" packaging/try-containers $(OUT)

# It needs abidiff, and cargo-semver-checks once there is a release, which it compiles for some minutes.
test-compatibility: tools  ## Compare the Rust and C interfaces with those of the last release; VERSION=1.2.3 is what this is to be
	@.ci/tools dist
	@CARGO=$(CARGO) packaging/check-compatibility --planted
	@CARGO=$(CARGO) packaging/check-compatibility $(VERSION)

# It needs what `make dist` made, and a network.
test-dist: tools        ## Try the archives: symbol versions; programs in roots of Debian 11, 12 and 13, and with musl alone
	@.ci/tools dist
	@CARGO=$(CARGO) packaging/test-dist $(OUT)/dist

# WINE_BUILD is the build tree of a Wine with the patches of wine/, test programs included.
test-wine: build        ## Wine's own tests with its server, the device and the back end of wine/ (WINE_BUILD); a deadlock, explained
	@wine/test $(OUT) $(WINE_BUILD)

##@ Demonstrations

ifeq ($(SYSTEM),Darwin)
demo test-demo:
	@echo "make $@: these programs use /dev/ntsync, which is Linux's; docs/reference/macos.md says what there is here" >&2; exit 1
else
run: demo               ## The same as `make demo`

demo: build             ## Build everything and run two programs that were written for the kernel's driver
	@mkdir -p $(OUT)/demo
	$(CC) $(DEMO_CFLAGS) -o $(OUT)/demo/two_processes demo/two_processes.c
	$(CC) $(DEMO_CFLAGS) -shared -fPIC -o $(OUT)/demo/planted.so demo/planted.c -ldl
	$(CARGO) build --release --locked --manifest-path demo/ntsync-crate/Cargo.toml --target-dir $(TARGET_DIR)/demo
	@$(INSTALL) -m 755 $(TARGET_DIR)/demo/release/ntsync-crate-demo $(OUT)/demo/ntsync-crate
	@demo/run $(OUT)
endif

# PICTURES=docs/diagnose/pictures writes what is shown to where docs/diagnose/it-hangs.md shows it. WINE=... for a Windows program, too (not as root).
demo-inspect: build     ## Programs that hang or are slow, and what ntux why, inspect and top say of them
	@mkdir -p $(OUT)/demo
	$(CC) $(DEMO_CFLAGS) -o $(OUT)/demo/scenes demo/inspect/scenes.c -lpthread
	@demo/inspect/run $(OUT) $(PICTURES)

# RUNS=5, for the medians. What it needs is fetched from Debian, some 12 MB.
demo-soft-dirty: build  ## Debian's Boehm collector and Guile on soft-dirty bits from ntux, beside their own way
	@demo/soft-dirty $(OUT)

# RUNS=5, for the medians; WINE, if it is not on the PATH. What is missing is fetched with apt and npm, 0.4 GB at most.
demo-wine: build        ## Wine 10.16 or later, without and with ntux: Windows programs, their answers and times
	@demo/wine/run $(OUT)

##@ Measurements

bench: build bench-program    ## Measure ntux beside the other ways to have NT objects, write watches and futexes
	@$(OUT)/bin/ntux bench sync --full
ifneq ($(SYSTEM),Darwin)
	@$(OUT)/bin/ntux bench watch
	@$(OUT)/bin/ntux bench futex
endif

bench-program: tools    ## Build the program that `ntux bench` runs, into out/
	$(CARGO) build --release --locked $(VERIFY) -p ntux-bench
	@mkdir -p $(OUT)/lib/ntux
	@$(INSTALL) -m 755 $(VERIFY_DIR)/release/ntux-bench $(OUT)/lib/ntux/ntux-bench

##@ Documents

book: tools             ## Build the book of docs/ into out/book; the first time, mdBook is compiled for it
	@.ci/tools book
	@.ci/book $(OUT)/tools/bin/mdbook --planted
	@.ci/book $(OUT)/tools/bin/mdbook

figures: tools          ## Render the tables and the picture of the documents from the results in benchmarks/
	$(CARGO) run --quiet --locked $(VERIFY) -p ntux-bench --example figures

reference: tools        ## Write the reference pages of command, environment and exit status anew, from what the command says
	$(CARGO) run --quiet --locked -p ntux-cli -- pages --reference docs/reference
