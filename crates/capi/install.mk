# The C face: `capi` builds it, `install-capi` installs it. Included by the top Makefile; works alone with `make -f`.
#
#   PREFIX    where it will live             /usr/local
#   DESTDIR   put before every path, to make a package
#   LIBDIR, INCLUDEDIR                       below PREFIX
#   CARGO_BUILD_TARGET, CC                   for another processor: Rust's name of it, and its C compiler
#
# rustc gives the symbols of a shared library no version and lets nobody else do it, so Cargo builds only the static
# library, and the C compiler links the shared one from it. For ELF systems.

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
CAPI_SONAME := libntux.so.$(firstword $(subst ., ,$(CAPI_VERSION)))
CAPI_TARGET_DIR := $(abspath $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(CAPI_DIR)/../../target))
CAPI_BUILT := $(CAPI_TARGET_DIR)$(if $(CARGO_BUILD_TARGET),/$(CARGO_BUILD_TARGET))
CAPI_OUT := $(CAPI_BUILT)/capi
CAPI_LINK := -shared -Wl,-soname,$(CAPI_SONAME) -Wl,--version-script,$(CAPI_DIR)/ntux.map -Wl,--gc-sections \
	-Wl,-z,defs -Wl,-z,relro -Wl,-z,now

.PHONY: capi install-capi

capi:
	$(if $(CARGO_BUILD_TARGET),CARGO_BUILD_TARGET=$(CARGO_BUILD_TARGET)) $(CARGO) rustc --release --lib --crate-type staticlib --manifest-path $(CAPI_DIR)/Cargo.toml --target-dir $(CAPI_TARGET_DIR)
	mkdir -p $(CAPI_OUT)
	cp $(CAPI_BUILT)/release/libntux_capi.a $(CAPI_OUT)/libntux.a
	$(CC) $(CAPI_LINK) -o $(CAPI_OUT)/libntux.so \
		-Wl,--whole-archive $(CAPI_OUT)/libntux.a -Wl,--no-whole-archive -lgcc_s -lpthread -ldl -lm
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(CAPI_VERSION)|' $(CAPI_DIR)/ntux.pc.in > $(CAPI_OUT)/ntux.pc

install-capi: capi
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(CAPI_HEADER) $(DESTDIR)$(INCLUDEDIR)/ntux.h
	$(INSTALL) -m 644 $(CAPI_OUT)/libntux.a $(DESTDIR)$(LIBDIR)/libntux.a
	$(INSTALL) -m 755 $(CAPI_OUT)/libntux.so $(DESTDIR)$(LIBDIR)/libntux.so.$(CAPI_VERSION)
	ln -sf libntux.so.$(CAPI_VERSION) $(DESTDIR)$(LIBDIR)/$(CAPI_SONAME)
	ln -sf $(CAPI_SONAME) $(DESTDIR)$(LIBDIR)/libntux.so
	$(INSTALL) -m 644 $(CAPI_OUT)/ntux.pc $(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
