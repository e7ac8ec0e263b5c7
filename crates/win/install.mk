# SPDX-License-Identifier: MIT OR Apache-2.0
# The Win32 face: `win` builds it, `install-win` installs what was built. Included by the top Makefile; works alone with `make -f`.
# Variables and the way to link are those of ../capi/install.mk; WIN_OUT says where it is built.

WIN_DIR := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
ifndef CAPI_DIR
include $(WIN_DIR)/../capi/install.mk
endif

WIN_HEADERS := $(WIN_DIR)/include/ntux/win
WIN_VERSION := $(shell sed -n 's/^.define NTUX_WIN_VERSION "\(.*\)"/\1/p' $(WIN_HEADERS)/synchapi.h)
WIN_MAJOR := $(firstword $(subst ., ,$(WIN_VERSION)))
WIN_OUT ?= $(CAPI_BUILT)/win
WIN_FRESH := $(shell echo fresh-$$$$)
ifeq ($(CAPI_SYSTEM),Darwin)
WIN_SHARED := libntux-win.dylib
WIN_SONAME := libntux-win.$(WIN_MAJOR).dylib
WIN_FULL := libntux-win.$(WIN_VERSION).dylib
WIN_LINK := -dynamiclib -install_name $(LIBDIR)/$(WIN_SONAME)
else
WIN_SHARED := libntux-win.so
WIN_SONAME := libntux-win.so.$(WIN_MAJOR)
WIN_FULL := libntux-win.so.$(WIN_VERSION)
WIN_LINK := -shared -Wl,-soname,$(WIN_SONAME) -Wl,--version-script,$(WIN_DIR)/ntux-win.map -Wl,--gc-sections \
	-Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,nodelete
endif

.PHONY: win install-win uninstall-win

win:
	$(if $(CARGO_BUILD_TARGET),CARGO_BUILD_TARGET=$(CARGO_BUILD_TARGET)) $(CARGO) rustc --profile $(CAPI_PROFILE) --locked --lib --crate-type staticlib --manifest-path $(WIN_DIR)/Cargo.toml --target-dir $(CAPI_TARGET_DIR)
	mkdir -p $(WIN_OUT)
	cp $(CAPI_BUILT)/$(patsubst dev,debug,$(CAPI_PROFILE))/libntux_win.a $(WIN_OUT)/$(WIN_FRESH).a
	$(CC) $(WIN_LINK) -o $(WIN_OUT)/$(WIN_FRESH).so \
		$(call CAPI_WHOLE,$(WIN_OUT)/$(WIN_FRESH).a) $(CAPI_LDFLAGS) -lpthread -ldl -lm
	mv $(WIN_OUT)/$(WIN_FRESH).a $(WIN_OUT)/libntux-win.a
	mv $(WIN_OUT)/$(WIN_FRESH).so $(WIN_OUT)/$(WIN_SHARED)
	ln -s $(WIN_SHARED) $(WIN_OUT)/$(WIN_FRESH)
	mv $(WIN_OUT)/$(WIN_FRESH) $(WIN_OUT)/$(WIN_SONAME)

# Neither builds nor needs Cargo.
install-win:
	@[ -e $(WIN_OUT)/$(WIN_SHARED) ] || { echo "make install: the Win32 library was not built; run first, as yourself: make build" >&2; exit 1; }
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR)/ntux/win $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(WIN_HEADERS)/*.h $(DESTDIR)$(INCLUDEDIR)/ntux/win
	$(INSTALL) -m 644 $(WIN_OUT)/libntux-win.a $(DESTDIR)$(LIBDIR)/libntux-win.a
	$(INSTALL) -m 755 $(WIN_OUT)/$(WIN_SHARED) $(DESTDIR)$(LIBDIR)/$(WIN_FULL)
	ln -sf $(WIN_FULL) $(DESTDIR)$(LIBDIR)/$(WIN_SONAME)
	ln -sf $(WIN_SONAME) $(DESTDIR)$(LIBDIR)/$(WIN_SHARED)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(WIN_VERSION)|' $(WIN_DIR)/ntux-win.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/ntux-win.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/ntux-win.pc
	@$(CAPI_TELL_LOADER)

uninstall-win:
	rm -rf $(DESTDIR)$(INCLUDEDIR)/ntux/win
	rm -f $(DESTDIR)$(LIBDIR)/libntux-win.a $(DESTDIR)$(LIBDIR)/$(WIN_SHARED) \
		$(DESTDIR)$(LIBDIR)/$(WIN_SONAME) $(DESTDIR)$(LIBDIR)/$(WIN_FULL) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/ntux-win.pc
	-[ ! -d $(DESTDIR)$(INCLUDEDIR)/ntux ] || rmdir $(DESTDIR)$(INCLUDEDIR)/ntux
	@$(CAPI_TELL_LOADER)
