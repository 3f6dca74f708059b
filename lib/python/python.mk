# SPDX-License-Identifier: Apache-2.0
# python.mk - make wheel: the Python package with both programs; included by the Makefile
#
# The programs are linked once more, with the archives of libelf, zlib, LZ4 and Zstandard and without LLVM, so that
# the wheel needs the C library alone. Its library has caches: a package of 3 MB does not count 50 KiB. How old that may be is what the system it is built on decides.
WHEEL_BUILD := out/wheel/build
WHEEL_FILES := $(addprefix $(WHEEL_BUILD)/,bin/mpack bin/minspect libexec/minspect/toml.so \
	libexec/mpack/libmpkrun-pic.a librun/state/libmpk-run.so.0)
WHEEL_EU    := $(WHEEL_BUILD)/libeu.a
WHEEL_LIBS  := -Wl,-Bstatic -lelf $(WHEEL_EU) -lz -llz4 -lzstd -Wl,-Bdynamic -lm -ldl -pthread

$(WHEEL_EU): lib/python/eu_search.c
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c $< -o $(@D)/eu_search.o && $(AR) rcsD $@ $(@D)/eu_search.o

wheel: $(WHEEL_EU)
	$(Q)$(MAKE) --no-print-directory O=$(WHEEL_BUILD) LLVM_CONFIG= RUN_RELR= BASE_LIBS='$(WHEEL_LIBS)' \
		$(WHEEL_FILES)
	$(Q)python3 lib/python/build_wheel.py '$(VERSION)' $(WHEEL_BUILD) out/wheel

.PHONY: wheel
