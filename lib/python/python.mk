# SPDX-License-Identifier: Apache-2.0
# python.mk - the extension module of the package mpk; make wheel: the package with both programs; included by the Makefile
#
# The extension has the library within it and is CPython's stable ABI of 3.9: one file for all later ones. It is built
# where Python.h is, and left out elsewhere, as nothing else needs it.
PY_INCLUDE ?= $(shell python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
PY_SRC   := $(sort $(wildcard lib/python/core/*.c))
PY_OBJ   := $(PY_SRC:%.c=$(O)/%.o)
PY_CORE  := $(O)/python/_core.abi3.so
PY_BUILT := $(if $(wildcard $(PY_INCLUDE)/Python.h),$(PY_CORE))
# Slots of types hold functions and texts as void *, which ISO C and -Wwrite-strings have not.
PY_CPPFLAGS := -DPy_LIMITED_API=0x03090000 -DPY_SSIZE_T_CLEAN -isystem $(PY_INCLUDE)
PY_CFLAGS   := -Wno-pedantic -Wno-write-strings
$(PY_OBJ): private CPPFLAGS += $(PY_CPPFLAGS)
$(PY_OBJ): private ALL_CFLAGS += $(PY_CFLAGS)

$(PY_CORE): $(PY_OBJ) $(O)/librun/run.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && printf '{ global: PyInit__core; local: *; };' > $(@D)/exports.map
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(@D)/exports.map $(RUN_LDFLAGS) \
		-o $@.new $(PY_OBJ) $(O)/librun/run.a $(RUN_NEEDS) && mv -f $@.new $@

# Without them the package does not work, and the tests that import it would not say so.
python: $(PY_CORE)

# The programs are linked once more, with the archives of libelf, zlib, LZ4 and Zstandard and without LLVM, so that
# the wheel needs the C library alone. How old that may be is what the system it is built on decides.
WHEEL_BUILD := out/wheel/build
WHEEL_FILES := $(addprefix $(WHEEL_BUILD)/,bin/mpack bin/minspect libexec/minspect/toml.so \
	$(RUN_ARCHIVE:$(O)/%=%) python/_core.abi3.so)
WHEEL_EU    := $(WHEEL_BUILD)/libeu.a
WHEEL_LIBS  := -Wl,-Bstatic -lelf $(WHEEL_EU) -lz -llz4 -lzstd -Wl,-Bdynamic -lm -ldl -pthread

$(WHEEL_EU): lib/python/eu_search.c
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $< -o $(@D)/eu_search.o && $(AR) rcsD $@ $(@D)/eu_search.o

wheel: $(WHEEL_EU)
	$(Q)$(MAKE) --no-print-directory O=$(WHEEL_BUILD) LLVM_CONFIG= RUN_RELR= BASE_LIBS='$(WHEEL_LIBS)' \
		$(WHEEL_FILES)
	$(Q)python3 lib/python/build_wheel.py '$(VERSION)' $(WHEEL_BUILD) out/wheel

# The package where this Python looks for it below PREFIX, when the extension was built with the release; PYTHONDIR= leaves
# it out. Its programs are those of BINDIR, which PY_PROGRAMS names to it as seen from the package.
PYTHONDIR ?= $(shell python3 lib/python/place.py '$(PREFIX)' 2>/dev/null)
PY_INSTALLED = $(if $(and $(PYTHONDIR),$(PY_BUILT),$(filter release deb,$(notdir $(O)))),$(PYTHONDIR)/mpk)
PY_PROGRAMS ?= $(shell realpath -ms --relative-to='$(PYTHONDIR)/mpk' '$(BINDIR)')
PY_INFO      = $(PYTHONDIR)/mpk_tools-$(VERSION).egg-info
PY_FILES    := $(notdir $(wildcard lib/python/mpk/*.py lib/python/mpk/*.pyi lib/python/mpk/py.typed))

install-python: $(PY_CORE)
	$(Q)$(INSTALL) -d '$(DESTDIR)$(PY_INSTALLED)'
	$(Q)$(INSTALL) -m 644 $(PY_FILES:%=lib/python/mpk/%) '$(DESTDIR)$(PY_INSTALLED)'
	$(Q)$(INSTALL) -m 644 $(PY_CORE) '$(DESTDIR)$(PY_INSTALLED)'
	$(Q)$(call stripped,'$(DESTDIR)$(PY_INSTALLED)/$(notdir $(PY_CORE))'):
	$(Q)echo 'PROGRAMS = "$(PY_PROGRAMS)"' >'$(DESTDIR)$(PY_INSTALLED)/_place.py'
	$(Q)printf 'Metadata-Version: 2.1\nName: mpk-tools\nVersion: $(VERSION)\n' >'$(DESTDIR)$(PY_INFO)'

uninstall-python:
	rm -f $(foreach f,$(PY_FILES) _place.py $(notdir $(PY_CORE)),'$(DESTDIR)$(PYTHONDIR)/mpk/$(f)') '$(DESTDIR)$(PY_INFO)'
	rm -rf '$(DESTDIR)$(PYTHONDIR)/mpk/__pycache__'
	$(Q)sh scripts/remove-folders '$(DESTDIR)' '$(PREFIX)' '$(PYTHONDIR)/mpk'

-include $(PY_OBJ:.o=.d)
.PHONY: python wheel install-python uninstall-python
