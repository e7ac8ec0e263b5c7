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
CAPI_OUT ?= $(CAPI_BUILT)/capi
CAPI_PROFILE ?= release
CAPI_LDFLAGS ?= -lgcc_s
CAPI_LINK := -shared -Wl,-soname,$(CAPI_SONAME) -Wl,--version-script,$(CAPI_DIR)/ntux.map -Wl,--gc-sections \
	-Wl,-z,defs -Wl,-z,relro -Wl,-z,now

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
	cp $(CAPI_BUILT)/$(CAPI_PROFILE)/libntux_capi.a $(CAPI_OUT)/$(CAPI_FRESH).a
	$(CC) $(CAPI_LINK) -o $(CAPI_OUT)/$(CAPI_FRESH).so \
		-Wl,--whole-archive $(CAPI_OUT)/$(CAPI_FRESH).a -Wl,--no-whole-archive $(CAPI_LDFLAGS) -lpthread -ldl -lm
	mv $(CAPI_OUT)/$(CAPI_FRESH).a $(CAPI_OUT)/libntux.a
	mv $(CAPI_OUT)/$(CAPI_FRESH).so $(CAPI_OUT)/libntux.so

# Neither builds nor needs Cargo: it may run as another user than the one who built.
install-capi:
	@[ -e $(CAPI_OUT)/libntux.so ] || { echo "make install: the C library was not built; run first, as yourself: make build" >&2; exit 1; }
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(CAPI_HEADER) $(DESTDIR)$(INCLUDEDIR)/ntux.h
	$(INSTALL) -m 644 $(CAPI_OUT)/libntux.a $(DESTDIR)$(LIBDIR)/libntux.a
	$(INSTALL) -m 755 $(CAPI_OUT)/libntux.so $(DESTDIR)$(LIBDIR)/libntux.so.$(CAPI_VERSION)
	ln -sf libntux.so.$(CAPI_VERSION) $(DESTDIR)$(LIBDIR)/$(CAPI_SONAME)
	ln -sf $(CAPI_SONAME) $(DESTDIR)$(LIBDIR)/libntux.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(CAPI_VERSION)|' $(CAPI_DIR)/ntux.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	@$(CAPI_TELL_LOADER)

uninstall-capi:
	rm -f $(DESTDIR)$(INCLUDEDIR)/ntux.h $(DESTDIR)$(LIBDIR)/libntux.a $(DESTDIR)$(LIBDIR)/libntux.so \
		$(DESTDIR)$(LIBDIR)/$(CAPI_SONAME) $(DESTDIR)$(LIBDIR)/libntux.so.$(CAPI_VERSION) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/ntux.pc
	@$(CAPI_TELL_LOADER)
