# SPDX-License-Identifier: MIT OR Apache-2.0
# The C face: `capi` builds it, `install-capi` installs what was built. Included by the top Makefile; works alone with
# `make -f`.
#
#   PREFIX    where it will live             /usr/local
#   DESTDIR   put before every path, to make a package
#   LIBDIR, INCLUDEDIR                       below PREFIX
#   CAPI_OUT  where it is built              target/capi
#   CAPI_PROFILE, CAPI_LDFLAGS               Cargo's profile; what else to link the shared library with
#   CARGO_BUILD_TARGET, CC                   for another processor: Rust's name of it, and its C compiler
#
# rustc gives the symbols of a shared library no version and lets nobody else do it, so Cargo builds only the static
# library, and the C compiler links the shared one from it. For ELF systems, and for macOS (Mach-O), where names differ.

PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
CARGO ?= cargo
CC ?= cc
INSTALL ?= install

CAPI_DIR := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
CAPI_HEADER := $(CAPI_DIR)/include/ntux.h
CAPI_VERSION := $(shell sed -n 's/^.define NTUX_VERSION "\(.*\)"/\1/p' $(CAPI_HEADER))
CAPI_MAJOR := $(firstword $(subst ., ,$(CAPI_VERSION)))
CAPI_SYSTEM := $(if $(CARGO_BUILD_TARGET),$(if $(findstring apple,$(CARGO_BUILD_TARGET)),Darwin,ELF),$(shell uname -s))
CAPI_TARGET_DIR := $(abspath $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(CAPI_DIR)/../../target))
CAPI_BUILT := $(CAPI_TARGET_DIR)$(if $(CARGO_BUILD_TARGET),/$(CARGO_BUILD_TARGET))
CAPI_OUT ?= $(CAPI_BUILT)/capi
CAPI_PROFILE ?= release
ifeq ($(CAPI_SYSTEM),Darwin)
CAPI_SHARED := libntux.dylib
CAPI_SONAME := libntux.$(CAPI_MAJOR).dylib
CAPI_FULL := libntux.$(CAPI_VERSION).dylib
CAPI_LDFLAGS ?=
CAPI_LINK := -dynamiclib -install_name $(LIBDIR)/$(CAPI_SONAME)
CAPI_WHOLE = -Wl,-force_load,$(1)
else
CAPI_SHARED := libntux.so
CAPI_SONAME := libntux.so.$(CAPI_MAJOR)
CAPI_FULL := libntux.so.$(CAPI_VERSION)
CAPI_LDFLAGS ?= -lgcc_s
CAPI_LINK := -shared -Wl,-soname,$(CAPI_SONAME) -Wl,--version-script,$(CAPI_DIR)/ntux.map -Wl,--gc-sections \
	-Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,nodelete
CAPI_WHOLE = -Wl,--whole-archive $(1) -Wl,--no-whole-archive
endif

# Where ldconfig looks, the loader finds the library only after ldconfig has seen it.
CAPI_TELL_LOADER = if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then \
	PATH=$$PATH:/sbin:/usr/sbin; \
	! ldconfig -N -v 2> /dev/null | grep -q "^$(LIBDIR):" || { echo ldconfig; ldconfig; }; fi

# Files are put in place whole: somebody else may be linking with what was there.
CAPI_FRESH := $(shell echo fresh-$$$$)

.PHONY: capi install-capi uninstall-capi

capi:
	$(if $(CARGO_BUILD_TARGET),CARGO_BUILD_TARGET=$(CARGO_BUILD_TARGET)) $(CARGO) rustc --profile $(CAPI_PROFILE) --locked --lib --crate-type staticlib --manifest-path $(CAPI_DIR)/Cargo.toml --target-dir $(CAPI_TARGET_DIR)
	mkdir -p $(CAPI_OUT)
	cp $(CAPI_BUILT)/$(patsubst dev,debug,$(CAPI_PROFILE))/libntux_capi.a $(CAPI_OUT)/$(CAPI_FRESH).a
	$(CC) $(CAPI_LINK) -o $(CAPI_OUT)/$(CAPI_FRESH).so \
		$(call CAPI_WHOLE,$(CAPI_OUT)/$(CAPI_FRESH).a) $(CAPI_LDFLAGS) -lpthread -ldl -lm
	mv $(CAPI_OUT)/$(CAPI_FRESH).a $(CAPI_OUT)/libntux.a
	mv $(CAPI_OUT)/$(CAPI_FRESH).so $(CAPI_OUT)/$(CAPI_SHARED)
	ln -s $(CAPI_SHARED) $(CAPI_OUT)/$(CAPI_FRESH)
	mv $(CAPI_OUT)/$(CAPI_FRESH) $(CAPI_OUT)/$(CAPI_SONAME)

# Neither builds nor needs Cargo: it may run as another user than the one who built.
install-capi:
	@[ -e $(CAPI_OUT)/$(CAPI_SHARED) ] || { echo "make install: the C library was not built; run first, as yourself: make build" >&2; exit 1; }
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(CAPI_HEADER) $(DESTDIR)$(INCLUDEDIR)/ntux.h
	$(INSTALL) -m 644 $(CAPI_OUT)/libntux.a $(DESTDIR)$(LIBDIR)/libntux.a
	$(INSTALL) -m 755 $(CAPI_OUT)/$(CAPI_SHARED) $(DESTDIR)$(LIBDIR)/$(CAPI_FULL)
	ln -sf $(CAPI_FULL) $(DESTDIR)$(LIBDIR)/$(CAPI_SONAME)
	ln -sf $(CAPI_SONAME) $(DESTDIR)$(LIBDIR)/$(CAPI_SHARED)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(CAPI_VERSION)|' $(CAPI_DIR)/ntux.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	@$(CAPI_TELL_LOADER)

uninstall-capi:
	rm -f $(DESTDIR)$(INCLUDEDIR)/ntux.h $(DESTDIR)$(LIBDIR)/libntux.a $(DESTDIR)$(LIBDIR)/$(CAPI_SHARED) \
		$(DESTDIR)$(LIBDIR)/$(CAPI_SONAME) $(DESTDIR)$(LIBDIR)/$(CAPI_FULL) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	@$(CAPI_TELL_LOADER)
