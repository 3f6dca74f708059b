# SPDX-License-Identifier: Apache-2.0
# library.mk - libmpk-run: the shared library, the archives, what finds them; included by the Makefile
#
# Compiled apart from the programs, for size: each function in a section of its own, so that the linker leaves out what mpk/run.h does not reach. What runs in every call is
# compiled for speed. Folders that are listed here in vain cost time alone.
OBJCOPY    ?= objcopy
READELF    ?= readelf
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
RUN_ROOMS := $(addprefix lib/,ground/base ground/io ground/text know/signature know/program know/code \
	$(addprefix run/,device value abi runtime library executor executor/contrib executor/plan executor/relax \
	executor/relay executor/state executor/static)) formats $(wildcard formats/*)
RUN_SRC   := $(sort $(foreach r,$(RUN_ROOMS),$(wildcard $(r)/*.c)))
RUN_OBJ   := $(RUN_SRC:%.c=$(O)/run/%.o)
RUN_SOVERSION := 0
RUN_SO    := $(O)/librun/libmpk-run.so.$(RUN_SOVERSION)
RUN_LIBS  := $(RUN_SO) $(O)/librun/libmpk-run.so $(O)/librun/libmpkrun.a $(O)/librun/libmpkrun-pic.a
# -ftrivial-auto-var-init fills buffers of kilobytes in every call; all others of HARDEN stay. At -Os gcc takes what
# a callee sets for unset; the programs are compiled with the warning.
# AMD's GPUs are left out, for size: RUN_ROCM=1 takes them in, 18 KiB.
RUN_ROCM  ?= 0
RUN_CFLAGS  = -DMPK_RUN_ROCM=$(RUN_ROCM) $(RUN_COMMON)
RUN_COMMON  = $(filter-out -ftrivial-auto-var-init=zero,$(ALL_CFLAGS)) -ffunction-sections -fdata-sections \
	-Wno-maybe-uninitialized $(RUN_SMALL)
# -Oz came with GCC 12. With a frame pointer no push or pop of an argument takes a row of the unwind tables.
RUN_SMALL  := $(shell $(CC) -Oz -E - </dev/null >/dev/null 2>&1 && echo -Oz || echo -Os) -fno-omit-frame-pointer
# Tables hold addresses, each of which takes 24 bytes to be relocated at load, and about one in the form that glibc reads
# from 2.36 on. Empty: the old form, for older systems and other C libraries.
RUN_RELR  ?= $(if $(filter x86_64,$(MACHINE)),-Wl$(COMMA)-z$(COMMA)pack-relative-relocs)
COMMA     := ,
RUN_LDFLAGS = $(filter-out -fuse-ld=%,$(ALL_LDFLAGS)) -Wl,--gc-sections $(RUN_RELR)
RUN_NEEDS  := -lm -ldl -pthread
# The functions of the header, which everything is reached from.
RUN_NAMES   = $(shell sed -n '/^MPKR_API/s/\x28.*//p' lib/mpk/run.h | awk '{ print $$NF }' | tr -d '*')
# Their functions and jumps lie where they come: alignment takes 2 KiB, and no call was faster by it.
RUN_O2    := -O2 -fomit-frame-pointer -fno-align-functions -fno-align-loops \
	$(shell $(CC) -Werror -fno-align-jumps -E - </dev/null >/dev/null 2>&1 && echo -fno-align-jumps)
RUN_FAST  := $(addprefix $(O)/run/lib/run/,$(addsuffix .o,abi/ffi abi/ffi_object executor/plan/run \
	executor/relax/cells executor/relax/interp library/call runtime/devices \
	runtime/vm_api value/tensor value/value))
$(filter $(RUN_FAST),$(RUN_OBJ)): private RUN_SPEED = $(RUN_O2)
# Also in every call, but short: small, and without the frame pointer, which took a byte-code step 2 % more instructions.
RUN_STEP  := $(addprefix $(O)/run/lib/,$(addsuffix .o,ground/base/arena $(addprefix run/,abi/convention executor/machine \
	executor/plan/plan library/function library/model library/open library/place library/profile library/result \
	runtime/runtime value/memory)))
$(filter $(RUN_STEP),$(RUN_OBJ)): private RUN_SPEED = -fomit-frame-pointer

$(O)/run/%.o: %.c $(O)/flags lib/mpk/library.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(RUN_DEFINES) $(RUN_CFLAGS) $(RUN_SPEED) -MMD -MP -c $< -o $@

# The archives have hidden functions: a program or library that takes one in exports none of them.
RUN_PUBLIC := $(patsubst %.c,%,$(wildcard lib/run/library/*.c))
$(O)/run-static/%.o: %.c $(O)/flags lib/mpk/library.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -DMPKR_STATIC $(RUN_CFLAGS) -O2 -fomit-frame-pointer -MMD -MP -c $< -o $@

$(O)/librun/run.a: $(RUN_OBJ)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcsD $@ $^

$(RUN_SO): $(O)/librun/run.a lib/mpk/exports.map lib/mpk/run.h
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=lib/mpk/exports.map $(RUN_LDFLAGS) -Wl,--build-id \
		$(if $(filter asan fuzz cov,$(VARIANT)),,-Wl,--no-undefined) -Wl,--as-needed -Wl,-Map=$@.map \
		$(RUN_NAMES:%=-Wl,-u,%) -o $@.new $< $(RUN_NEEDS) && mv -f $@.new $@

# What standalone models leave out that do not need it: caches, recurrent states and samplers; or all executors but
# the Relax VM, and all devices but the CPU. The tables that lead there are compiled once more.
RUN_STATELESS := $(O)/run-stateless/lib/run/executor/relax/relax.o
RUN_CPU := $(addprefix $(O)/run-cpu/,lib/run/executor/executor.o lib/run/device/device.o)
$(RUN_STATELESS): private RUN_DEFINES := -DMPK_RUN_STATE=0
$(RUN_CPU): private RUN_DEFINES := -DMPK_RUN_RELAY=0 -DMPK_RUN_STATIC=0 -DMPK_RUN_OPENCL=0 -DMPK_RUN_CUDA=0
$(RUN_STATELESS): $(O)/run-stateless/%.o: %.c $(O)/flags lib/mpk/library.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(RUN_DEFINES) $(RUN_CFLAGS) -MMD -MP -c $< -o $@
$(RUN_CPU): $(O)/run-cpu/%.o: %.c $(O)/flags lib/mpk/library.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(RUN_DEFINES) $(RUN_CFLAGS) -MMD -MP -c $< -o $@

$(O)/librun/libmpk-run.so: $(RUN_SO)
	$(Q)ln -sf $(<F) $@

# One object, in which nothing but the functions of the header has a name. It is position-independent and its functions
# are hidden, so that programs and shared libraries take the same; the second name is the one that is looked for where
# archives for shared libraries have names of their own.
# The models are for mpack, which links one into standalone libraries: their code calls other functions.
RUN_MODEL_NAMES = mpkr_enter mpkr_answer mpkr_raised mpkr_item mpkr_shape mpkr_forget
RUN_STATIC_OBJ := $(RUN_PUBLIC:%=$(O)/run-static/%.o)
RUN_MODELS := $(addprefix $(O)/run-static/,model.o model-state.o model-cpu.o model-cpu-state.o)
# Host code that is linked beside it finds there what it imports of its loader.
$(O)/run-static/mpk-run.o: RUN_KEPT = $(RUN_NAMES)
$(O)/run-static/mpk-run.o: RUN_GLOBAL := mpkr_*
$(RUN_MODELS): RUN_KEPT = $(RUN_MODEL_NAMES)
$(RUN_MODELS): RUN_GLOBAL := mpkr_* TVM*
# what comes before the archive is not looked for in it
$(O)/run-static/model.o: $(RUN_STATELESS)
$(O)/run-static/model-cpu.o: $(RUN_STATELESS) $(RUN_CPU)
$(O)/run-static/model-cpu-state.o: $(RUN_CPU)
$(addprefix $(O)/run/lib/run/runtime/,module_api.o parallel.o vm_api.o workspace.o): private RUN_DEFINES := -DMPK_RUN_LINKED
$(O)/run-static/mpk-run.o $(RUN_MODELS): $(RUN_STATIC_OBJ) $(O)/librun/run.a
	$(call say,LD,$@)
	$(Q)$(LD) -r --gc-sections $(RUN_KEPT:%=-u %) -o $@ $(filter %.o,$^) $(O)/librun/run.a
	$(Q)$(OBJCOPY) -w $(RUN_GLOBAL:%=--keep-global-symbol='%') --strip-unneeded $@
$(O)/librun/libmpkrun.a $(O)/librun/libmpkrun-pic.a: $(O)/run-static/mpk-run.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $<

# What mpack links into standalone libraries.
RUN_ARCHIVE := $(patsubst $(O)/run-static/model%,$(O)/libexec/mpack/libmpkrun%,$(RUN_MODELS:.o=-pic.a))
$(O)/libexec/mpack/libmpkrun-pic.a: $(O)/run-static/model.o
$(O)/libexec/mpack/libmpkrun-state-pic.a: $(O)/run-static/model-state.o
$(O)/libexec/mpack/libmpkrun-cpu-pic.a: $(O)/run-static/model-cpu.o
$(O)/libexec/mpack/libmpkrun-cpu-state-pic.a: $(O)/run-static/model-cpu-state.o
$(RUN_ARCHIVE):
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@.new && $(AR) rcsD $@.new $< && mv -f $@.new $@

# The same for another machine or C library: make run-for TARGET=aarch64-linux-gnu, TARGET=x86_64-linux-musl, with the
# compiler and binutils of that name; this system's binutils where the name has none, as musl's. The archive for applications
# is out/for/TARGET/librun/libmpkrun.a. Headers that are the same for every machine come from this one's.
for_tool = $(if $(shell command -v $(TARGET)-$(1)),$(TARGET)-$(1),$(1))
run-for:
	$(if $(TARGET),,$(error name the machine: TARGET=aarch64-linux-gnu))
	$(Q)$(MAKE) --no-print-directory O=out/for/$(TARGET) CC=$(TARGET)-gcc LD=$(call for_tool,ld) AR=$(call for_tool,ar) \
		OBJCOPY=$(call for_tool,objcopy) RUN_RELR= CPPFLAGS='$(CPPFLAGS) -idirafter /usr/include -idirafter /usr/include/$(TARGET:musl=gnu)' \
		out/for/$(TARGET)/librun/libmpkrun.a $(RUN_ARCHIVE:$(O)/%=out/for/$(TARGET)/%)
	$(Q)mkdir -p $(O)/libexec/mpack/$(TARGET) && cp $(RUN_ARCHIVE:$(O)/%=out/for/$(TARGET)/%) $(O)/libexec/mpack/$(TARGET)

# What finds the library goes from where it lies itself, so that a folder may be moved as a whole.
UP_FROM = $(shell realpath -ms --relative-to='$(1)' '$(PREFIX)')
RUN_FILL = sed -e 's|@UP@|$(call UP_FROM,$(1))|' -e 's|@LIBDIR@|$(shell realpath -ms --relative-to='$(PREFIX)' '$(LIBDIR)')|' \
	-e 's|@INCLUDEDIR@|$(shell realpath -ms --relative-to='$(PREFIX)' '$(INCLUDEDIR)')|' -e 's|@VERSION@|$(VERSION)|' \
	-e 's|@POINTER@|$(shell getconf LONG_BIT | awk '{ print $$1 / 8 }')|'
RUN_CMAKE = $(LIBDIR)/cmake/mpk-run
# What debuggers and profilers read of a stripped library, by its build id: "ab/cdef.debug" below .build-id of the folder
# of such files, which gdb is told by "set debug-file-directory".
DEBUGDIR ?= $(LIBDIR)/debug
build_id_file = $(shell $(READELF) -n '$(1)' 2>/dev/null | sed -n 's|^ *Build ID: \(..\)\(.*\)|\1/\2.debug|p')

install-run: $(RUN_LIBS)
	$(Q)$(INSTALL) -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(RUN_CMAKE)' '$(DESTDIR)$(INCLUDEDIR)/mpk'
	$(Q)$(INSTALL) -m 644 lib/mpk/run.h lib/mpk/run.hpp lib/mpk/standalone.h '$(DESTDIR)$(INCLUDEDIR)/mpk'
	$(Q)$(INSTALL) -m 644 $(RUN_SO) $(O)/librun/libmpkrun.a $(O)/librun/libmpkrun-pic.a '$(DESTDIR)$(LIBDIR)'
	$(if $(STRIP),$(Q)$(INSTALL) -d '$(DESTDIR)$(DEBUGDIR)/.build-id/$(dir $(call build_id_file,$(RUN_SO)))' && \
		$(OBJCOPY) --only-keep-debug $(RUN_SO) '$(DESTDIR)$(DEBUGDIR)/.build-id/$(call build_id_file,$(RUN_SO))' && \
		chmod 644 '$(DESTDIR)$(DEBUGDIR)/.build-id/$(call build_id_file,$(RUN_SO))')
	$(Q)$(call stripped,'$(DESTDIR)$(LIBDIR)/$(notdir $(RUN_SO))'):
	$(Q)ln -sf $(notdir $(RUN_SO)) '$(DESTDIR)$(LIBDIR)/libmpk-run.so'
	$(Q)ln -sf libmpkrun.a '$(DESTDIR)$(LIBDIR)/libmpk-run.a' # as pkg-config --static calls it
	$(Q)$(call RUN_FILL,$(LIBDIR)/pkgconfig) lib/mpk/mpk-run.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/mpk-run.pc'
	$(Q)for f in mpk-run-config mpk-run-config-version; do \
		$(call RUN_FILL,$(LIBDIR)/cmake) lib/mpk/$$f.cmake.in >'$(DESTDIR)$(RUN_CMAKE)/'$$f.cmake || exit; done

# The same in the build, for tests and for those who want to try it: PKG_CONFIG_PATH=out/release/sdk/lib/pkgconfig
RUN_SDK := $(O)/sdk/lib/pkgconfig/mpk-run.pc
$(RUN_SDK): $(RUN_LIBS) $(wildcard lib/mpk/*)
	$(call say,GEN,$(O)/sdk)
	$(Q)$(MAKE) --no-print-directory install-run STRIP= O='$(O)' DESTDIR= PREFIX='$(abspath $(O))/sdk' \
		LIBDIR='$(abspath $(O))/sdk/lib' INCLUDEDIR='$(abspath $(O))/sdk/include'

uninstall-run: RUN_DEBUG := $(DEBUGDIR)/.build-id/$(call build_id_file,$(DESTDIR)$(LIBDIR)/$(notdir $(RUN_SO)))
uninstall-run:
	rm -f '$(DESTDIR)$(RUN_DEBUG)'
	$(Q)sh scripts/remove-folders '$(DESTDIR)' '$(PREFIX)' '$(patsubst %/,%,$(dir $(RUN_DEBUG)))'
	rm -f '$(DESTDIR)$(INCLUDEDIR)/mpk/run.h' '$(DESTDIR)$(INCLUDEDIR)/mpk/run.hpp' '$(DESTDIR)$(INCLUDEDIR)/mpk/standalone.h' '$(DESTDIR)$(LIBDIR)/pkgconfig/mpk-run.pc' \
		'$(DESTDIR)$(LIBDIR)/libmpk-run.a' $(foreach f,$(notdir $(RUN_LIBS)),'$(DESTDIR)$(LIBDIR)/$(f)')
	rm -rf '$(DESTDIR)$(RUN_CMAKE)'
	rmdir '$(DESTDIR)$(INCLUDEDIR)/mpk' 2>/dev/null || :

-include $(RUN_OBJ:.o=.d) $(RUN_STATIC_OBJ:.o=.d) $(RUN_STATELESS:.o=.d) $(RUN_CPU:.o=.d)
.PHONY: run-for install-run uninstall-run
