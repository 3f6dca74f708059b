# SPDX-License-Identifier: Apache-2.0
# make                build into out/release       make VARIANT=asan check   the same tests under ASan+UBSan
# make check          unit and command-line tests  make coverage             gcovr report
# make fuzz           libFuzzer, FUZZ_TIME s each  make fuzz-smoke          a second of each
# make variants       damaged files, whole programs make faults              each call that can fail fails
# make forge          called code that lies
# make afl            minspect under AFL++
# make interop        against real TVM             make bench                ratios against cp, cc and peers
# make install DESTDIR= PREFIX=/usr/local          make lint | tidy          static checks
# make static         minspect for looking, in one file that runs anywhere
# make web            minspect for looking, in one page of HTML
# make dist           a release as a tarball       make distcheck            and what comes out of it
# make deb            a Debian package
VERSION := $(shell cat VERSION)
VARIANT ?= release
O       ?= out/$(VARIANT)
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share
DESTDIR ?=
INSTALL ?= install
# Programs and shared libraries are stripped where they are installed. STRIP= leaves that to a packager's tools.
STRIP   ?= $(shell $(CC) -print-prog-name=strip)
# $(call stripped,FILE...): a command in front of others
stripped = $(if $(STRIP),$(STRIP) $(1) && )
# empty: without LLVM; mpack then compiles C only, as where its plug-in is not installed
LLVM_CONFIG ?= llvm-config-19
PKG_CONFIG  ?= pkg-config
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(Q),@printf '  %-7s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))')

WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wstrict-prototypes \
        -Wmissing-prototypes -Wformat=2 -Wpointer-arith -Wcast-qual -Wwrite-strings \
        -Wundef -Wswitch-enum -Wimplicit-fallthrough
CXXWARN := -Wall -Wextra -Wpedantic -Wshadow
# WERROR=1 (CI): a warning fails the build
WERROR_FLAG := $(if $(filter 1,$(WERROR)),-Werror)
# Read back from what is installed by scripts/check-hardening. Branches are protected in the way of
# the machine, where the compiler knows one.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
HARDEN  := -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero \
           -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $(if $(filter x86_64 i%86,$(MACHINE)),-fcf-protection) \
           $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
CFLAGS  ?= -O2 -g
CXXFLAGS ?= $(CFLAGS)
# A header is included as room/header.h, whichever wing the room is in.
WINGS := ground know pack run show
CPPFLAGS += $(WINGS:%=-Ilib/%) -Ilib -Iformats -Icmd -D_GNU_SOURCE
LLVM_CPPFLAGS := $(if $(LLVM_CONFIG),-isystem $(shell $(LLVM_CONFIG) --includedir 2>/dev/null))
ifeq ($(VARIANT),asan)
VARIANT_CFLAGS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifeq ($(VARIANT),cov)
VARIANT_CFLAGS := -O0 --coverage -DMPK_COVERAGE
else ifeq ($(VARIANT),afl)
VARIANT_CFLAGS := -D_FORTIFY_SOURCE=2
else ifeq ($(VARIANT),fuzz)
VARIANT_CFLAGS := -O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
                  -fno-sanitize-recover=all -fsanitize-coverage-ignorelist=tests/fuzz/coverage.ignore
else
VARIANT_CFLAGS := $(HARDEN)
endif
COMMON_FLAGS = -fPIC -fvisibility=hidden -ffile-prefix-map=$(CURDIR)=. $(WERROR_FLAG)
ALL_CFLAGS   = -std=c17 $(WARN) -fno-common $(COMMON_FLAGS) $(CFLAGS) $(VARIANT_CFLAGS)
ALL_CXXFLAGS = -std=c++17 $(CXXWARN) $(COMMON_FLAGS) $(CXXFLAGS) $(VARIANT_CFLAGS)
ifneq ($(VARIANT),fuzz)
ALL_LDFLAGS  = -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)
else
ALL_LDFLAGS  = $(LDFLAGS)
endif

# --- what is built ---------------------------------------------------------------
LLVM_SRC := $(sort $(wildcard lib/know/llvm/plugin/*.c))
# What is compiled or pasted by itself: the plug-in, what compiled code imports, the loader of standalone libraries.
APART    := lib/know/llvm/plugin/% lib/pack/launch/standalone/%
# $(call wing_src,WING): its C sources, those of formats/ with know
wing_src  = $(sort $(filter-out $(APART),$(wildcard lib/$(1)/*/*.c lib/$(1)/*/*/*.c) $(if $(filter know,$(1)),$(wildcard formats/*.c formats/*/*.c))))
LIB_SRC  := $(foreach w,$(WINGS),$(call wing_src,$(w)))
LIB_CXX  := $(sort $(wildcard lib/*/*/*.cc))
CMD_SRC  := $(sort $(wildcard cmd/common/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(O)/%.o)
CXX_OBJ  := $(LIB_CXX:%.cc=$(O)/%.o)
CMD_OBJ  := $(CMD_SRC:%.c=$(O)/%.o)
# unit tests that call the plug-in directly
NEEDS_LLVM_check_llvm := 1
UNIT     := $(sort $(wildcard tests/unit/check_*.c))
ifeq ($(LLVM_CONFIG),)
LLVM_SRC :=
UNIT     := $(foreach u,$(UNIT),$(if $(NEEDS_LLVM_$(basename $(notdir $u))),,$u))
endif
LLVM_OBJ := $(LLVM_SRC:%.c=$(O)/%.o)
UNIT_BIN := $(UNIT:%.c=$(O)/%)
ALL_SRC  := $(LIB_SRC) $(LLVM_SRC) $(CMD_SRC) $(filter-out cmd/web/%,$(wildcard cmd/*/*.c)) $(wildcard lib/pack/launch/standalone/*.c) $(UNIT)

BASE_LIBS  := -lelf -lz -llz4 -lzstd -lm -ldl -pthread
# Jansson judges what is written and read as JSON
CHECK_LIBS  = $(shell $(PKG_CONFIG) --libs check) -lsubunit -ljansson
LLVM_LIBS   = $(shell $(LLVM_CONFIG) --ldflags --libs 2>/dev/null)

# The loader that mpack pastes into standalone libraries as text (lib/pack/launch/standalone/loader.h):
# compiled here, in both calling conventions, for its warnings and its test.
SA_SRC   := $(sort $(wildcard lib/pack/launch/standalone/*.c))
SA_OBJ   := $(SA_SRC:%.c=$(O)/%.o)
SA_LEGACY_OBJ := $(SA_SRC:%.c=$(O)/%.legacy.o)

# What uses LLVM is opened by mpack when it is needed (lib/know/llvm/llvm.h).
LLVM_SO  := $(if $(LLVM_CONFIG),$(O)/libexec/mpack/llvm.so)

# The C++ parser of --cases; minspect itself starts without libstdc++.
TOML_SO  := $(O)/libexec/minspect/toml.so

# What applications link, built with the release.
include lib/mpk/library.mk
include lib/python/python.mk
.DEFAULT_GOAL := all
RUN_ALL := $(if $(filter release deb,$(notdir $(O))),$(RUN_SDK) $(RUN_ARCHIVE)) $(if $(filter release,$(notdir $(O))),$(PY_BUILT))

all: $(O)/bin/mpack $(O)/bin/minspect $(RUN_ALL) $(TOML_SO) $(SA_OBJ) $(SA_LEGACY_OBJ)

# An archive a wing; those of a group may need each other only downwards (scripts/check-layers).
ARCHIVES := $(WINGS:%=$(O)/libmpk-%.a)
define archive
$(O)/libmpk-$(1).a: $(patsubst %.c,$(O)/%.o,$(call wing_src,$(1)))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcsD $$@ $$^
endef
$(foreach w,$(WINGS),$(eval $(call archive,$(w))))
# $(call wings,WING...): their archives in the order in which a linker needs them
wings = $(1:%=$(O)/libmpk-%.a)

# Each program and each file that programs open is replaced whole: tests may be running it while another suite builds it
# anew.
$(O)/bin/mpack: $(patsubst %.c,$(O)/%.o,$(sort $(wildcard cmd/mpack/*.c))) $(CMD_OBJ) $(CXX_OBJ) $(call wings,show pack know ground) | $(LLVM_SO)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(ALL_CXXFLAGS) -pie $(ALL_LDFLAGS) -o $@.new $^ $(BASE_LIBS) && mv -f $@.new $@

ifneq ($(LLVM_SO),)
$(LLVM_SO): $(LLVM_OBJ) $(call wings,know ground)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(if $(filter asan fuzz,$(VARIANT)),,-Wl,--no-undefined) -shared -o $@.new $^ $(LLVM_LIBS) && mv -f $@.new $@
endif

$(O)/bin/minspect: $(patsubst %.c,$(O)/%.o,$(sort $(wildcard cmd/minspect/*.c))) $(CMD_OBJ) $(call wings,show run know ground)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) -o $@.new $^ $(BASE_LIBS) && mv -f $@.new $@

$(TOML_SO): $(CXX_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(ALL_CXXFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,$(@F) -o $@.new $^ && mv -f $@.new $@

$(UNIT_BIN): $(O)/tests/unit/%: $(O)/tests/unit/%.o $(CMD_OBJ) $(CXX_OBJ) $(LLVM_OBJ) $(call wings,show pack run know ground)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(ALL_CXXFLAGS) $(ALL_LDFLAGS) -o $@ $(if $(NEEDS_LLVM_$*),$^ $(LLVM_LIBS),$(filter-out $(LLVM_OBJ),$^)) $(CHECK_LIBS) $(BASE_LIBS)

# Driver libraries of the tests: minspect and the unit tests open them in place of the real ones.
FAKE_SRC  := $(sort $(wildcard tests/fakes/*.c))
FAKE_CUDA := $(O)/tests/fakes/libcuda.so.1
FAKE_HIP  := $(O)/tests/fakes/libamdhip64.so.6
FAKES     := $(FAKE_CUDA) $(O)/tests/fakes/old/libcuda.so.1 $(FAKE_HIP) $(O)/tests/fakes/old/libamdhip64.so.5
fakes: $(FAKES)
$(FAKES): private CPPFLAGS += -Itests/fakes
$(filter $(O)/tests/fakes/old/%,$(FAKES)): private CPPFLAGS += -DFAKE_CUDA_OLD_DRIVER
$(filter %/libamdhip64.so.6 %/libamdhip64.so.5,$(FAKES)): private CPPFLAGS += -DFAKE_HIP
$(FAKES): $(FAKE_SRC) $(wildcard tests/fakes/*.h) lib/run/device/internal/cuda_abi.h lib/run/device/internal/hip_abi.h $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@.new $(FAKE_SRC) && mv -f $@.new $@
FAKE_USERS := $(filter $(O)/tests/unit/check_device_cuda $(O)/tests/unit/check_device_drivers $(O)/tests/unit/check_device_rocm $(O)/tests/unit/check_run_devices $(O)/tests/unit/check_run_kernels \
	$(O)/tests/unit/check_run_memory $(O)/tests/unit/check_run_stream,$(UNIT_BIN))
$(FAKE_USERS:%=%.o): private CPPFLAGS += -Itests/fakes
$(FAKE_USERS): | $(FAKES)
# Modules of each calling convention, for the tests of the runtime: plain C, as users would compile it.
MODULES := $(patsubst %,$(O)/tests/modules/%.so,ffi ffi021 legacy ffi_now ffi_noplt system)
$(O)/tests/modules/%021.so: private MODULE_FLAGS := -DV021
$(O)/tests/modules/%_now.so: private MODULE_FLAGS := -Wl,-z,relro,-z,now
$(O)/tests/modules/%_noplt.so: private MODULE_FLAGS := -fno-plt
$(filter $(O)/tests/modules/ffi%,$(MODULES)): tests/modules/ffi.c
$(O)/tests/modules/legacy.so: tests/modules/legacy.c
$(O)/tests/modules/system.so: tests/modules/system.c
$(MODULES):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -g -shared -fPIC $(MODULE_FLAGS) -o $@.new $< && mv -f $@.new $@
$(O)/tests/unit/check_runtime $(O)/tests/unit/check_batch $(O)/tests/unit/check_call $(O)/tests/unit/check_elfdyn $(O)/tests/unit/check_run_library $(O)/tests/unit/check_run_calls: | $(MODULES)
# The readers whose calls check_read_once counts.
COUNTED := ar cubin fatbin graph_json ptx source_code spirv
$(O)/tests/unit/check_read_once: private ALL_LDFLAGS += $(COUNTED:%=-Wl,--wrap=mpk_%_read)
# The allocations that check_run_memory lets fail.
ALLOCATORS := malloc calloc realloc aligned_alloc strdup strndup
$(O)/tests/unit/check_run_memory: private ALL_LDFLAGS += $(ALLOCATORS:%=-Wl,--wrap=%)
# The runtime in a shared object, as applications have it.
GUEST := $(O)/tests/guest/guest.so
$(GUEST): $(O)/tests/guest/guest.o $(call wings,run know ground)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@.new $^ $(BASE_LIBS) && mv -f $@.new $@
$(O)/tests/unit/check_guest: | $(GUEST)
# The questions about cores that check_parallel counts.
$(O)/tests/unit/check_parallel: private ALL_LDFLAGS += -Wl,--wrap=sched_getaffinity -Wl,--wrap=sysconf
# The programs whose tests move the clock (tests/unit/clock_made.h).
CLOCK_USERS := $(addprefix $(O)/tests/unit/,check_batch check_observe check_process_end)
$(CLOCK_USERS): private ALL_LDFLAGS += -Wl,--wrap=clock_gettime
# What check_cores answers for the system.
SEEN_BY_CORES := clock_gettime getrusage read sched_getaffinity
$(O)/tests/unit/check_cores: private ALL_LDFLAGS += $(SEEN_BY_CORES:%=-Wl,--wrap=%)
# Where NVIDIA's toolkit is installed, its declarations are compared with ours.
$(O)/tests/unit/check_cuda_abi.o $(O)/tests/unit/check_occupancy.o: CPPFLAGS += -isystem /usr/local/cuda/include
$(O)/tests/unit/check_hip_abi.o: CPPFLAGS += -isystem /opt/rocm/include

# --- how -------------------------------------------------------------------------
# Written only when something changed, so that a changed flag or commit rebuilds its users.
FLAGS_NOW = $(CC) $(CXX) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_CXXFLAGS) $(ALL_LDFLAGS)
$(O)/flags: FORCE
	$(Q)mkdir -p $(@D); echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

# What is compiled in must lead there from any directory, also when PREFIX is relative.
LIBEXEC_FROM_BIN = $(shell realpath -ms --relative-to='$(BINDIR)' '$(LIBEXECDIR)')
ABSOLUTE_LIBEXECDIR = $(if $(filter /%,$(LIBEXECDIR)),,$(CURDIR)/)$(LIBEXECDIR)
# A release has its commit in a file: what git says there is about the repository around it, if any.
COMMIT = $(shell cat COMMIT 2>/dev/null || git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
CONFIG_TEXT = \#define MPK_VERSION "$(VERSION)"\n\#define MPK_COMMIT "$(COMMIT)"\n\#define MPK_LIBELF_VERSION "$(shell $(PKG_CONFIG) --modversion libelf 2>/dev/null)"\n\#define MPK_LLVM_VERSION "$(if $(LLVM_CONFIG),$(shell $(LLVM_CONFIG) --version 2>/dev/null))"\n\#define MPK_LIBEXECDIR "$(ABSOLUTE_LIBEXECDIR)"\n\#define MPK_LIBEXEC_FROM_BIN "$(LIBEXEC_FROM_BIN)"\n
$(O)/gen/common/config.h: FORCE
	$(Q)mkdir -p $(@D); printf '$(CONFIG_TEXT)' | cmp -s - $@ || printf '$(CONFIG_TEXT)' > $@
$(O)/cmd/common/help.o $(O)/cmd/common/find.o: $(O)/gen/common/config.h
$(O)/cmd/common/help.o $(O)/cmd/common/find.o: CPPFLAGS += -I$(O)/gen
$(LLVM_OBJ): CPPFLAGS += $(LLVM_CPPFLAGS)

$(O)/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(O)/%.legacy.o: %.c $(O)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -DMPK_SA_LEGACY -MMD -MP -c $< -o $@

# The page of minspect --html: style and script in one file, and their hashes, which its policy names.
PAGE_CSS := lib/show/page/web/page.css
PAGE_JS  := $(addprefix lib/show/page/web/,$(addsuffix .js,base model weights rows table code machine map dashboard node fold plan graph profile memory compare releases graphdiff search panels page))
$(O)/gen/page/page.html: lib/show/page/web/page.html $(PAGE_CSS) $(PAGE_JS) scripts/page
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sh scripts/page lib/show/page/web/page.html $(PAGE_CSS) $(PAGE_JS) > $@
$(O)/lib/show/page/page.o: $(O)/gen/page/page.html
$(O)/lib/show/page/page.o: private CPPFLAGS += -Wa,-I$(O)/gen

# The loader once more, by flags of its own: mpack links these objects into libraries that go elsewhere.
SA_LINKED := $(addprefix $(O)/gen/standalone/,cuda.o opencl.o ffi.o hybrid.o legacy.o)
SA_TEXTS  := $(wildcard lib/pack/launch/standalone/*) lib/ground/base/half.h formats/dtype/dlpack.h formats/dtype/type_index.h
$(SA_LINKED): private SA_PARTS := shared arguments functions
$(O)/gen/standalone/cuda.o $(O)/gen/standalone/opencl.o: private SA_PARTS = $(basename $(@F))
$(O)/gen/standalone/hybrid.o: private CPPFLAGS += -DMPK_SA_HYBRID
$(O)/gen/standalone/legacy.o: private CPPFLAGS += -DMPK_SA_LEGACY
$(SA_LINKED): $(SA_TEXTS) $(O)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -U_FORTIFY_SOURCE -std=gnu17 -O2 -fPIC -fno-lto -c -o $@ \
		$(SA_PARTS:%=-include lib/pack/launch/standalone/%.c) -x c /dev/null
$(O)/lib/pack/package/generate.o: $(SA_TEXTS) $(SA_LINKED)
$(O)/lib/pack/package/generate.o: private CPPFLAGS += -Wa,-I$(O)/gen
$(O)/tests/unit/check_standalone: $(addprefix $(O)/lib/pack/launch/standalone/,arguments.o functions.o shared.o)

$(O)/%.o: %.cc $(O)/flags
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(CPPFLAGS) $(ALL_CXXFLAGS) -MMD -MP -c $< -o $@

include cmd/web/web.mk

check: unit cli

unit: $(UNIT_BIN) all
	$(Q)sh tests/unit/run $(if $(Q),,-v) $(UNIT_BIN)

# Without the programs that try thousands of hostile or thinned files, or compile for a device.
UNIT_LONG := check_hostile check_thin check_device_opencl
UNIT_QUICK := $(filter-out $(UNIT_LONG:%=$(O)/tests/unit/%),$(UNIT_BIN))
unit-quick: $(UNIT_QUICK) all
	$(Q)sh tests/unit/run $(if $(Q),,-v) $(UNIT_QUICK)
.PHONY: unit-quick

# The test programs without a run, for compilers whose build is all that is asked.
unit-build: $(UNIT_BIN)

cli: all $(FAKES)
	$(Q)tests/cli/run --bin $(O)/bin --work $(O)/cli

asan:
	$(Q)$(MAKE) --no-print-directory VARIANT=asan check

# gcovr over the unit and command-line tests, from a build of its own; the report is out/cov/coverage.html
coverage:
	$(Q)$(MAKE) --no-print-directory VARIANT=cov check
	$(Q)gcovr --root . --object-directory out/cov --filter 'lib/' --filter 'formats/' --filter 'cmd/' \
		--exclude-throw-branches \
		--html-details out/cov/coverage.html --txt out/cov/coverage.txt --print-summary

# --- static checks -----------------------------------------------------------------
HEADERS := $(sort $(filter-out cmd/web/% $(if $(PY_BUILT),,lib/python/%),$(shell find lib formats cmd -name '*.h')))
headers-check: $(O)/gen/common/config.h
	$(Q)printf '%s\n' $(HEADERS) | xargs -P $$(nproc) -I{} sh -c "echo 'typedef int mpk_nothing;' | \
		$(CC) $(CPPFLAGS) $(LLVM_CPPFLAGS) $(PY_BUILT:%=-isystem $(PY_INCLUDE)) -I$(O)/gen $(ALL_CFLAGS) -Werror -fsyntax-only -include {} -x c -"

lint: all $(O)/man/mpack-messages.7
	$(Q)sh scripts/lint $(O)

FORMAT ?= clang-format-19
format:
	$(Q)git ls-files 'cmd/*.[ch]' 'lib/*.[ch]' 'formats/*.[ch]' 'tests/*.[ch]' ':!tests/data' | xargs $(FORMAT) -i

TIDY ?= clang-tidy-19
# what is compiled apart, with flags of its own: the extension of the Python package where Python.h is
TIDY_MORE := $(if $(PY_BUILT),$(PY_SRC) $(wildcard lib/python/*.c))
tidy: compile_commands.json $(O)/gen/common/config.h
	$(Q)echo $(filter-out tests/%,$(if $(FILES),$(FILES),$(ALL_SRC) $(TIDY_MORE) $(LIB_CXX))) | xargs -n 4 -P $$(nproc) $(TIDY) --quiet -p .

# Reasons stand in tests/analyzer.supp.
ANALYZER ?= gcc
analyzer: $(O)/gen/common/config.h
	$(Q)CC='$(ANALYZER)' FLAGS='$(CPPFLAGS) $(LLVM_CPPFLAGS) -I$(O)/gen' sh scripts/check-analyzer \
		$(filter-out tests/%,$(ALL_SRC))

# One configuration, that of this machine; the headers of the system are not read, what they declare is in
# cppcheck's own lists.
CPPCHECK ?= cppcheck
CPPCHECK_FLAGS := --quiet --error-exitcode=1 --std=c17 --library=gnu,posix \
	--enable=warning,performance,portability --suppress=missingInclude \
	--suppressions-list=tests/cppcheck.supp \
	--template='{file}:{line}:{column}: {severity}: {message} [{id}]' \
	-D__GNUC__=12 -D__linux__=1 -D__$(MACHINE)__=1
cppcheck: $(O)/gen/common/config.h
	$(Q)$(CPPCHECK) -j $$(nproc) $(CPPCHECK_FLAGS) $(filter-out -isystem,$(CPPFLAGS)) -Itests/fakes -I$(O)/gen -icmd/web \
		cmd lib formats tests/unit tests/fakes tests/fuzz tests/faults

# Fuzzers need clang (FUZZ_CC, FUZZ_CXX). FUZZ names some of them, "fuzz_ar fuzz_tar"; findings are in
# out/fuzz/found. fuzz-smoke makes a fixed number of runs of each, FUZZ_TIME are seconds.
FUZZ_CC   ?= clang-19
FUZZ_CXX  ?= clang++-19
FUZZ_TIME ?= 60
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN  := $(FUZZ_SRC:%.c=$(O)/%)
FUZZ_MAKE  = $(Q)$(MAKE) --no-print-directory VARIANT=fuzz CC=$(FUZZ_CC) CXX=$(FUZZ_CXX) fuzz-build

fuzz-build: $(FUZZ_BIN) $(O)/tests/fuzz/aot_library.so
$(O)/tests/fuzz/aot_library.so: tests/fuzz/aot_library.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c17 $(WARN) -O1 -fPIC -shared -o $@ $<
$(FUZZ_BIN): %: %.o $(O)/tests/fuzz/entry.o $(CXX_OBJ) $(call wings,show pack run know ground)
	$(call say,LD,$@)
	$(Q)$(if $(filter $(FUZZ_CXX_USERS),$(@F)),$(CXX),$(CC)) $(COMMON_FLAGS) $(VARIANT_CFLAGS) -fsanitize=fuzzer -fuse-ld=lld -Wl,--threads=1 -o $@ \
		$(if $(filter $(FUZZ_CXX_USERS),$(@F)),$^,$(filter-out $(CXX_OBJ),$^)) $(BASE_LIBS)
# Targets that parse TOML, which C++ does.
FUZZ_CXX_USERS := fuzz_toml fuzz_manifest fuzz_cases fuzz_edit fuzz_unpack

fuzz:
	$(FUZZ_MAKE)
	$(Q)python3 tests/fuzz/run.py --time $(FUZZ_TIME) $(FUZZ)

fuzz-smoke:
	$(FUZZ_MAKE)
	$(Q)python3 tests/fuzz/run.py --smoke $(FUZZ)

# The whole program under AFL++ (scripts/deps afl), AFL_TIME seconds in all.
AFL_TIME ?= 600
afl:
	$(Q)AFL_QUIET=1 $(MAKE) --no-print-directory VARIANT=afl CC=afl-clang-fast CXX=afl-clang-fast++ out/afl/bin/minspect
	$(Q)sh tests/fuzz/afl out/afl/bin/minspect $(AFL_TIME)

compile_commands.json: FORCE
	$(Q){ for s in $(ALL_SRC); do printf '{"directory":"%s","file":"%s","command":"%s"},\n' '$(CURDIR)' "$$s" "$(CC) $(CPPFLAGS) $(LLVM_CPPFLAGS) -I$(O)/gen $(ALL_CFLAGS) -c $$s"; done; \
		for s in $(TIDY_MORE); do printf '{"directory":"%s","file":"%s","command":"%s"},\n' '$(CURDIR)' "$$s" "$(CC) $(CPPFLAGS) $(PY_CPPFLAGS) -I$(O)/gen $(ALL_CFLAGS) $(PY_CFLAGS) -c $$s"; done; \
		for s in $(LIB_CXX); do printf '{"directory":"%s","file":"%s","command":"%s"},\n' '$(CURDIR)' "$$s" "$(CXX) $(CPPFLAGS) -I$(O)/gen $(ALL_CXXFLAGS) -c $$s"; done; } | sed '1s/^/[/;$$s/,$$/]/' > $@

# --- against the world -------------------------------------------------------------
# Tests that import the package would be left out without its extension.
interop: all $(PY_BUILT)
	$(Q)sh tests/interop/run --bin $(O)/bin

# Every call that can fail does, in turn; FAULTS=--all tries each.
FAULTS ?= --limit 60
$(O)/tests/faults/inject.so: tests/faults/inject.c
	$(Q)mkdir -p $(@D) && $(CC) -O2 -g -Wall -Wextra $(WERROR_FLAG) -shared -fPIC -o $@.new $< && mv -f $@.new $@
faults: all $(O)/tests/faults/inject.so
	$(Q)python3 tests/faults/faults.py --bin $(O)/bin --inject $(O)/tests/faults/inject.so $(FAULTS)

# Damaged variants of real files through whole programs; VARIANTS="--count 20000 --seed today" for more.
VARIANTS ?= --count 1500
variants: all
	$(Q)python3 tests/fuzz/variants.py --bin $(O)/bin --keep out/fuzz/found $(VARIANTS)

# Lines broken one at a time, in a copy of the tree: MUTANTS="-n 60 --seed today lib/show/diff". Not part of any check.
MUTANTS ?= -n 20
mutants:
	$(Q)python3 scripts/mutants $(MUTANTS)

# Bombs and files of n, 2n and 4n parts through every action and command; BOUNDS=--long for all forms of each.
BOUNDS ?=
bounds: all
	$(Q)python3 tests/large/bounds.py --bin $(O)/bin $(BOUNDS)
.PHONY: mutants bounds

# Called code that attacks its caller; FORGE="--count 1500 --seed 1000" for more.
FORGE ?= --count 200
forge: all
	$(Q)python3 tests/fuzz/forge.py --bin $(O)/bin $(FORGE)

# CUDA modules on a real GPU; says SKIP without a driver. The log of such a run is in tests/gpu.
check-cuda: all $(O)/tests/unit/check_device_gpu
	$(Q)sh scripts/check-cuda --bin $(O)/bin

BENCH_BIN := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/bench/native/*.c)))
# What measures code of ours from within; the others are programs by themselves.
BENCH_OWN := $(addprefix $(O)/tests/bench/native/,model_step parallel_loop)
$(BENCH_OWN): $(O)/%: %.c $(call wings,run know ground)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $^ $(BASE_LIBS)
BENCH_RUN := $(O)/tests/bench/native/run_step
$(BENCH_RUN): $(O)/%: %.c $(RUN_SO)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 $(WARN) -O2 $(WERROR_FLAG) -Ilib -o $@ $^ -Wl,-rpath,$(abspath $(O)/sdk/lib)
$(filter-out $(BENCH_OWN) $(BENCH_RUN),$(BENCH_BIN)): $(O)/%: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 $(WARN) -O2 $(WERROR_FLAG) -o $@ $< -lOpenCL -ldl

# BENCH names groups, "models parallel"; empty: all.
BENCH ?=
bench: all $(BENCH_BIN)
	$(Q)python3 tests/bench/bench.py --bin $(O)/bin --json out/bench.json $(BENCH)

# --- where it goes -----------------------------------------------------------------
# Programs, helper programs and shared objects of minspect, manual pages, JSON Schemas, completion.
MESSAGES_PAGE := $(O)/man/mpack-messages.7
MAN_FILES     = $(wildcard man/*.[1-8]) $(MESSAGES_PAGE)
SCHEMA_FILES  = $(wildcard man/schema/*.json)
COMPLETIONDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR        ?= $(DATADIR)/zsh/site-functions
FISHDIR       ?= $(DATADIR)/fish/vendor_completions.d
COMPLETIONS   := $(addprefix $(O)/completion.,bash zsh fish)
# every message with its cause and remedy, as minspect explain has them
$(MESSAGES_PAGE): scripts/check-messages $(wildcard lib/show/explain/*.def)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && python3 scripts/check-messages --page > $@

install: all install-run $(if $(PY_INSTALLED),install-python) $(COMPLETIONS) $(MESSAGES_PAGE)
	$(Q)$(INSTALL) -d '$(DESTDIR)$(BINDIR)'
	$(Q)$(INSTALL) $(O)/bin/mpack $(O)/bin/minspect '$(DESTDIR)$(BINDIR)'
	$(Q)$(call stripped,'$(DESTDIR)$(BINDIR)/mpack' '$(DESTDIR)$(BINDIR)/minspect'):
	$(Q)for p in minspect mpack; do \
		$(INSTALL) -D -m 644 $(O)/completion.bash '$(DESTDIR)$(COMPLETIONDIR)/'$$p && \
		$(INSTALL) -D -m 644 $(O)/completion.fish '$(DESTDIR)$(FISHDIR)/'$$p.fish || exit; done
	$(Q)$(INSTALL) -D -m 644 $(O)/completion.zsh '$(DESTDIR)$(ZSHDIR)/_minspect'
	$(Q)for f in $$(find $(O)/libexec -type f); do $(INSTALL) -D $$f '$(DESTDIR)$(LIBEXECDIR)/'$${f#$(O)/libexec/} || exit; done
	$(Q)$(call stripped,$(patsubst $(O)/libexec/%,'$(DESTDIR)$(LIBEXECDIR)/%',$(TOML_SO) $(LLVM_SO))):
	$(Q)$(INSTALL) -D -m 644 scripts/cmake/mpack-config.cmake '$(DESTDIR)$(LIBDIR)/cmake/mpack/mpack-config.cmake'
	$(Q)$(INSTALL) -D -m 644 scripts/bazel/mpack.bzl '$(DESTDIR)$(DATADIR)/mpack/bazel/mpack.bzl'
	$(Q)$(INSTALL) -D scripts/ci/review '$(DESTDIR)$(DATADIR)/mpack/ci/review'
	$(Q)for f in $(MAN_FILES); do $(INSTALL) -D -m 644 $$f '$(DESTDIR)$(MANDIR)/man'$${f##*.}/$${f##*/} || exit; done
	$(Q)for f in $(SCHEMA_FILES); do $(INSTALL) -D -m 644 $$f '$(DESTDIR)$(DATADIR)/mpack/schema/'$${f##*/} || exit; done

uninstall: uninstall-run uninstall-python
	rm -rf '$(DESTDIR)$(LIBDIR)/cmake/mpack'
	rm -f '$(DESTDIR)$(BINDIR)/mpack' '$(DESTDIR)$(BINDIR)/minspect' \
		'$(DESTDIR)$(COMPLETIONDIR)/mpack' '$(DESTDIR)$(COMPLETIONDIR)/minspect' \
		'$(DESTDIR)$(FISHDIR)/mpack.fish' '$(DESTDIR)$(FISHDIR)/minspect.fish' '$(DESTDIR)$(ZSHDIR)/_minspect'
	rm -rf '$(DESTDIR)$(LIBEXECDIR)/mpack' '$(DESTDIR)$(LIBEXECDIR)/minspect' '$(DESTDIR)$(DATADIR)/mpack/schema' '$(DESTDIR)$(DATADIR)/mpack/bazel' '$(DESTDIR)$(DATADIR)/mpack/ci'
	rm -f $(foreach f,$(notdir $(MAN_FILES)),'$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(f)))/$(f)')
	$(Q)sh scripts/remove-folders '$(DESTDIR)' '$(PREFIX)' '$(BINDIR)' '$(COMPLETIONDIR)' '$(FISHDIR)' '$(ZSHDIR)' '$(LIBEXECDIR)' \
		'$(DATADIR)/mpack' $(sort $(foreach f,$(MAN_FILES),'$(MANDIR)/man$(subst .,,$(suffix $(f)))')) \
		'$(LIBDIR)/cmake' '$(LIBDIR)/pkgconfig' '$(INCLUDEDIR)'

# The words come from the programs' own help, which comes from their option tables.
$(COMPLETIONS): $(O)/completion.%: scripts/completion $(O)/bin/mpack $(O)/bin/minspect
	$(Q)PATH='$(abspath $(O)/bin)':$$PATH sh scripts/completion $* > $@

# --- releases ------------------------------------------------------------------------
dist:
	$(Q)sh scripts/dist

abi-check:
	$(Q)python3 scripts/check-abi

distcheck:
	$(Q)sh scripts/dist --check

# minspect for looking alone, linked statically with musl: out/static/minspect
static:
	$(Q)sh scripts/static
.PHONY: static

# minspect in one page of HTML, as WebAssembly: drop a file on it
web:
	$(Q)sh scripts/web
.PHONY: web

# Debian packages of the working tree, in out/deb; make debcheck also asks lintian and the programs in it.
deb:
	$(Q)sh scripts/deb

debcheck:
	$(Q)sh scripts/deb --check
.PHONY: abi-check dist distcheck deb debcheck

clean:
	rm -rf out compile_commands.json

-include $(ALL_SRC:%.c=$(O)/%.d) $(O)/tests/guest/guest.d $(FUZZ_SRC:%.c=$(O)/%.d) $(O)/tests/fuzz/entry.d $(SA_LEGACY_OBJ:.o=.d) $(LIB_CXX:%.cc=$(O)/%.d)
.PHONY: all faults variants forge afl fuzz fuzz-build fuzz-smoke fakes check check-cuda unit unit-build cli asan coverage format headers-check lint tidy cppcheck analyzer interop bench install uninstall clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
FORCE:
