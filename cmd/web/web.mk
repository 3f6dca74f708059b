# SPDX-License-Identifier: Apache-2.0
# minspect for looking, as WebAssembly in one page of HTML: out/web/minspect.html (scripts/web, which has built the
# libraries in $(WEB_ROOT)). The sources are minspect's own; cmd/web stands in for what a browser has not.
WEB_CC   ?= clang-19
WEB_LD   ?= wasm-ld-19
WEB_ROOT ?= out/web/root
WASI     ?= /usr/include/wasm32-wasi
WASI_LIB ?= /usr/lib/wasm32-wasi

# Replaced by cmd/web/system.c and cmd/web/actions.c, or used by what a browser does not do alone.
WEB_WITHOUT := lib/ground/sandbox/% lib/ground/process/% lib/know/toolchain/% lib/show/results/% formats/elfdyn/% \
	$(patsubst %,lib/ground/io/%.c,copy demand directory output place window) \
	$(patsubst %,cmd/minspect/%.c,cases device run run_report runtime)
WEB_SRC := $(filter-out $(WEB_WITHOUT),$(foreach w,ground know show,$(call wing_src,$(w))) $(sort $(wildcard lib/run/value/*.c)) $(CMD_SRC) \
	$(sort $(wildcard cmd/minspect/*.c cmd/web/*.c)))
WEB_OBJ := $(WEB_SRC:%.c=$(O)/web/%.o)
# What wasi-libc emulates, it wants to be asked for.
WEB_EMULATED := mman signal process-clocks getpid
WEB_CFLAGS = --target=wasm32-wasi -nostdlibinc -isystem cmd/web/include -isystem $(WEB_ROOT)/include -isystem $(WASI) \
	-D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID \
	-include cmd/web/system.h -std=c17 -Wall -Wextra -Wno-unused-value -Wno-sign-compare -Wno-type-limits -Wno-tautological-constant-out-of-range-compare \
	$(WERROR_FLAG) -O2 -mbulk-memory -ffile-prefix-map=$(CURDIR)=. -I$(O)/gen -Wa,-I$(O)/gen

$(O)/web/%.o: %.c cmd/web/system.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(WEB_CC) $(CPPFLAGS) $(WEB_CFLAGS) -MMD -MP -c $< -o $@
$(O)/web/cmd/common/help.o $(O)/web/cmd/common/find.o: $(O)/gen/common/config.h
$(O)/web/lib/show/page/page.o: $(O)/gen/page/page.html

# 8 MiB of stack, as on Linux; the rest of 4 GiB is for the file.
$(O)/web/minspect.wasm: $(WEB_OBJ)
	$(call say,LD,$@)
	$(Q)$(WEB_LD) -o $@.new --gc-sections --strip-all -z stack-size=8388608 $(WASI_LIB)/crt1.o $^ -L$(WEB_ROOT)/lib \
		-lelf -lz -llz4 -lzstd -L$(WASI_LIB) $(WEB_EMULATED:%=-lwasi-emulated-%) -lc -lm \
		$$($(WEB_CC) --target=wasm32-wasi -print-libgcc-file-name) && mv -f $@.new $@

# The page: the program packed and in base64, and the hashes of the scripts and styles that may run: its own, and those
# of minspect's page, which it shows in a frame.
$(O)/web/minspect.html: $(O)/web/minspect.wasm $(O)/gen/page/page.html $(addprefix cmd/web/,web.html web.css web.js wasi.js) scripts/page scripts/web-page
	$(call say,GEN,$@)
	$(Q)sh scripts/web-page $(O)/web/minspect.wasm $(O)/gen/page/page.html > $@.new && mv -f $@.new $@

-include $(WEB_OBJ:.o=.d)
