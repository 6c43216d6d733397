# Phelsuma. Needs a Rust toolchain and a C compiler; anything else is installed by its target or named by it.

CARGO ?= cargo
comma := ,
TRACE := traces/sqlite-postgres-ext4.csv.zst
# Those that a power cut at any operation must not harm: what a scan finds, or map blocks; and translation pages, which take
# longer.
FTLS  := page,fifo,d-choices,pl-greedy,dual-greedy,cost-benefit,cat,dac,dac-sealed,sepbit,midas,block,bast,fast,superblock,last++
# What is more than another one on several channels alone.
MM    := ftl-mm:block,ftl-mm:bast,ftl-mm:fast,ftl-mm:superblock
PAGED := dftl-noflush,dftl-page,dftl-timeout,dftl-req,lazyftl,ib-ftl,geckoftl,geckoftl-classes
# A tree that is looked into for each page takes ten times as long on the drives of the others.
MU    := mu-ftl
ON_MU := --ftl $(MU) --blocks 64 --pages-per-block 16 --ratio 0.4
# Many streams and several structures on flash need a larger drive than those of the others.
OURS  := phelsuma
ON_OURS := --ftl $(OURS) --blocks 256 --pages-per-block 16 --cache 512B
FULL_CACHES := --set mapping.write-pages=0 --set validity.bitmap-cache=3 --set partitions.pages=100
# Those that a battery tells of the cut: they are cut after requests.
BATTERY := dftl,tpftl,s-ftl,leaftl,learnedftl,mu-ftl-pvb
# The mapping in RAM; on flash with a cache of 128 entries, 0.15 % of the table, about the share that GeckoFTL's paper takes, for
# 72,721 pages that the trace touches; and of blocks.
DEMO := page,dftl,geckoftl,fast,last++
# What is tested is built so that an FTL can be told to forget a rule: the harness proves itself with such FTLs. No release
# can be built so. One build serves all tests, without the command's allocator, which takes a minute to compile.
TESTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/crates/ftl/mutants-rustc $(CARGO)
FEATURES := --no-default-features --features std,zstd,phelsuma-mcu-c/gecko,phelsuma-mcu-storage/fat
# Wherever cargo is told to build.
PHELSUMA := $(CARGO) run --release --quiet -p phelsuma-cli --
THUMB := thumbv7em-none-eabihf
# 32 bits, and no C compiler or library needed.
I686  := i686-unknown-linux-musl

.PHONY: demo install test try test-python python-venv python-package python-checks python-doc gallery report \
	nbd-clients page-browser web test-web bench-page my-policy \
	mutants mutants-table parameters ideas thorough overnight overnight-most overnight-mu-ftl overnight-ours lint bench bench-serve torture-bench no-std determinism determinism-32 doc house \
	thorough-tests thorough-my-policy thorough-python thorough-crash thorough-defects thorough-dies thorough-determinism thorough-plug

# Replays a real block trace through several FTLs and says who wins and why.
demo:
	@$(CARGO) build --release -p phelsuma-cli
	@$(PHELSUMA) compare --ftl $(DEMO) --trace $(TRACE) --capacity 352MiB --ratio 0.92 --loops 4 --cache 1KiB --set log.blocks=45

# The command, and the plugin with which nbdkit serves drives, where the command looks for it.
PREFIX ?= /usr/local
install:
	$(CARGO) build --release -p phelsuma-cli -p phelsuma-nbdkit
	install -D -m 755 $(or $(CARGO_TARGET_DIR),target)/release/phelsuma $(DESTDIR)$(PREFIX)/bin/phelsuma
	install -D -m 755 $(or $(CARGO_TARGET_DIR),target)/release/libphelsuma_nbdkit.so \
		$(DESTDIR)$(PREFIX)/lib/phelsuma/libphelsuma_nbdkit.so

# The C library for microcontrollers: header, static and shared library, and what pkg-config says. MCU_PARTS says which FTL.
# MCU_TARGET=thumbv7em-none-eabihf builds it for a core without an operating system, where there is no shared library.
MCU_PARTS  ?= gecko
MCU_TARGET ?=
MCU_STD     = $(if $(findstring -none-,$(MCU_TARGET)),,std$(comma))
MCU_BUILT   = $(or $(CARGO_TARGET_DIR),target)/$(if $(MCU_TARGET),$(MCU_TARGET)/)mcu
MCU_CARGO   = $(CARGO) rustc --quiet --profile mcu -p phelsuma-mcu-c --lib --no-default-features \
	--features $(MCU_STD)$(MCU_PARTS) $(if $(MCU_TARGET),--target $(MCU_TARGET))
MCU_VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
.PHONY: mcu-library install-mcu mcu-header mcu-header-check
mcu-library:
	$(MCU_CARGO) --crate-type staticlib
install-mcu: mcu-library
	install -D -m 644 crates/mcu-c/include/phelsuma.h $(DESTDIR)$(PREFIX)/include/phelsuma.h
	install -D -m 644 $(MCU_BUILT)/libphelsuma_mcu_c.a $(DESTDIR)$(PREFIX)/lib/libphelsuma.a
ifeq ($(findstring -none-,$(MCU_TARGET)),)
	$(MCU_CARGO) --crate-type cdylib -- -C link-arg=-Wl,-soname,libphelsuma.so.0
	install -D -m 755 $(MCU_BUILT)/libphelsuma_mcu_c.so $(DESTDIR)$(PREFIX)/lib/libphelsuma.so.0
	ln -sf libphelsuma.so.0 $(DESTDIR)$(PREFIX)/lib/libphelsuma.so
endif
	@mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(MCU_VERSION)|' -e 's|@PARTS@|$(MCU_PARTS)|' \
		-e 's|@PRIVATE@|$(if $(MCU_STD),-lpthread -ldl -lm)|' crates/mcu-c/phelsuma.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/phelsuma.pc

# Writes crates/mcu-c/include/phelsuma.h; mcu-header-check holds it to the sources.
MCU_HEADER = CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target)) $(CARGO) run --quiet \
	--manifest-path crates/mcu-c/header/Cargo.toml
mcu-header:
	@$(MCU_HEADER) -- --write
mcu-header-check:
	@$(MCU_HEADER)

# What programs without an operating system are built with, and run in: installed where this may be done, else what needs
# them is skipped, with a line.
MCU_TOOLS    := gcc arm-none-eabi-gcc arm-none-eabi-nm qemu-system-arm
MCU_PACKAGES := gcc libc6-dev gcc-arm-none-eabi binutils-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
# Where one of them is missing, a recipe ends here.
MCU_HAS = for program in $(MCU_TOOLS); do command -v $$program >/dev/null || exit 0; done
.PHONY: mcu-tools firmware-c firmware-c-host firmware-c-qemu
mcu-tools:
	@for program in $(MCU_TOOLS); do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	[ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(MCU_PACKAGES) >/dev/null; \
	then echo "installed:$$missing"; \
	else echo "skipped: firmware with$$missing; $(MCU_PACKAGES) (Debian's names) would be right"; fi
	@rustup target list --installed 2>/dev/null | grep -qx $(THUMB) || rustup target add $(THUMB)

# Each reset loads the program anew, and it is translated again: without a limit that takes a gigabyte.
QEMU := qemu-system-arm -M mps2-an386 -accel tcg,tb-size=32 -display none -monitor none -serial none \
	-semihosting-config enable=on,target=native

# The C example with each FTL: here, and on a Cortex-M4 in QEMU. With an acknowledgement that comes too early it has to
# fail: so its comparison is one.
HOST_CC   := gcc -std=c11 -O2 -Wall -Wextra -Werror -Icrates/mcu-c/include
ARM_CC    := arm-none-eabi-gcc -std=c11 -Os -Wall -Wextra -Werror -Icrates/mcu-c/include -ffreestanding -nostartfiles \
	-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Wl,--gc-sections -Wl,-z,noexecstack
C_EXAMPLE := examples/firmware-c
C_SOURCES := $(C_EXAMPLE)/host.c $(C_EXAMPLE)/trial.c $(C_EXAMPLE)/chip.c
C_BUILT   := $(or $(CARGO_TARGET_DIR),target)/firmware-c
firmware-c: mcu-tools
	@$(MCU_HAS); for parts in gecko smallest ram-table; do \
		$(MAKE) --no-print-directory firmware-c-host MCU_PARTS=$$parts && \
		$(MAKE) --no-print-directory firmware-c-qemu MCU_PARTS=$$parts MCU_TARGET=$(THUMB) || exit 1; done
firmware-c-host: mcu-library
	@mkdir -p $(C_BUILT)
	$(HOST_CC) $(C_SOURCES) $(MCU_BUILT)/libphelsuma_mcu_c.a -o $(C_BUILT)/host-$(MCU_PARTS)
	$(C_BUILT)/host-$(MCU_PARTS)
	@echo "with an acknowledgement that comes too early, as it must:"; $(HOST_CC) -DACKNOWLEDGES_TOO_EARLY $(C_SOURCES) $(MCU_BUILT)/libphelsuma_mcu_c.a -o $(C_BUILT)/early && \
		$(C_BUILT)/early | grep "is not what was acknowledged"
firmware-c-qemu: mcu-library
	@mkdir -p $(C_BUILT)
	$(ARM_CC) -T $(C_EXAMPLE)/mps2-an386.ld $(C_EXAMPLE)/startup.c $(C_SOURCES) \
		$(MCU_BUILT)/libphelsuma_mcu_c.a -o $(C_BUILT)/mps2-$(MCU_PARTS).elf
	@! arm-none-eabi-nm -C $(C_BUILT)/mps2-$(MCU_PARTS).elf | grep core::panicking
	timeout 300 $(QEMU) -kernel $(C_BUILT)/mps2-$(MCU_PARTS).elf

# Adapters to Zephyr and ESP-IDF: for a Cortex-M4, and their tests here with sanitizers. Each test has to fail with an
# adapter that is built with something wrong in place of a function that it calls.
ADAPTER_CC       = gcc -std=c11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all -pthread \
	-DCHIP_PAGE_BYTES=2048u -Icrates/mcu-c/include -I$(C_EXAMPLE) $(ADAPTER_INCLUDES)
ADAPTER_INCLUDES = -Iexamples/$(ADAPTER) -Iexamples/$(ADAPTER)/stub
ADAPTER_BUILT    = $(or $(CARGO_TARGET_DIR),target)/adapters/$(ADAPTER)
ADAPTER_SOURCE   = $(wildcard examples/$(ADAPTER)/*.c)
# What is built once: the test, the chip, and the library.
ADAPTER_REST     = $(wildcard examples/$(ADAPTER)/test/*.c) $(addprefix $(C_EXAMPLE)/,check.c chip.c mutants.c trial.c)
ADAPTER_LINKED   = $(ADAPTER_BUILT)/rest.o $(MCU_BUILT)/libphelsuma_mcu_c.a
ADAPTER_WRONG    = $(ADAPTER_CC) -D$(1) -c $(ADAPTER_SOURCE) -o $(ADAPTER_BUILT)/wrong.o && \
	$(ADAPTER_CC) $(ADAPTER_BUILT)/wrong.o $(ADAPTER_LINKED) -o $(ADAPTER_BUILT)/wrong && \
	{ $(ADAPTER_BUILT)/wrong >$(ADAPTER_BUILT)/wrong.txt; [ $$? = 1 ]; } && grep -m 1 $(2) $(ADAPTER_BUILT)/wrong.txt
.PHONY: mcu-adapters mcu-adapter
mcu-adapters: mcu-tools
	@$(MCU_HAS); $(MAKE) --no-print-directory mcu-adapter ADAPTER=zephyr LOCKS="k_mutex_lock k_mutex_unlock" && \
		$(MAKE) --no-print-directory mcu-adapter ADAPTER=esp-idf LOCKS="xSemaphoreTakeRecursive xSemaphoreGiveRecursive"
mcu-adapter: mcu-library
	@mkdir -p $(ADAPTER_BUILT)
	$(ARM_CC) $(ADAPTER_INCLUDES) -c $(ADAPTER_SOURCE) -o $(ADAPTER_BUILT)/cortex-m4.o
	$(ADAPTER_CC) -r $(ADAPTER_REST) -o $(ADAPTER_BUILT)/rest.o
	$(ADAPTER_CC) $(ADAPTER_SOURCE) $(ADAPTER_LINKED) -o $(ADAPTER_BUILT)/test
	$(ADAPTER_BUILT)/test
	@$(call ADAPTER_WRONG,phelsuma_write=late_write,"is not what was acknowledged")
	@$(call ADAPTER_WRONG,phelsuma_sync=no_sync,"is not what was acknowledged")
	@$(call ADAPTER_WRONG,phelsuma_trim=no_trim,"not so: reads_as_data")
	@$(call ADAPTER_WRONG,$(word 1,$(LOCKS))=no_lock -D$(word 2,$(LOCKS))=no_unlock,"check_threads")

# The Rust example: a firmware whose flash pulls the plug and resets the machine, so many boots of each FTL, in QEMU. One
# that acknowledges too early has to be found out.
BOOTS      ?= 10000
SEED       ?= 1
BOOT_PARTS ?= gecko smallest ram-table
RUST_BUILT := $(or $(CARGO_TARGET_DIR),target)/$(THUMB)/release
RUST_CARGO := CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target)) $(CARGO) build --release --quiet \
	--manifest-path examples/firmware-rust/Cargo.toml --target $(THUMB)
.PHONY: firmware-rust firmware-boots firmware-boots-quick firmware-size firmware-sizes
firmware-rust: mcu-tools
	$(RUST_CARGO)
firmware-boots: firmware-rust
	@$(MCU_HAS); for parts in $(BOOT_PARTS); do for meta in spare in-page; do \
		timeout 3600 $(QEMU),arg=boots,arg=$(BOOTS),arg=$$parts,arg=$(SEED),arg=$$meta -kernel $(RUST_BUILT)/boots || exit 1; \
		done; done
firmware-boots-quick: mcu-tools
	@$(MCU_HAS); $(RUST_CARGO) --features acknowledges-too-early --bin boots && for parts in $(BOOT_PARTS); do \
		timeout 300 $(QEMU),arg=boots,arg=200,arg=$$parts -kernel $(RUST_BUILT)/boots 2>&1 | \
			grep "is not what was acknowledged" || exit 1; done
	@$(MAKE) --no-print-directory firmware-boots BOOTS=200

# Text, RAM and stack of whole programs, with limits; and that no path of them panics. `firmware-sizes` stores new figures.
FIRMWARE_SIZE = $(MCU_HAS); python3 examples/firmware-rust/size.py $(RUST_BUILT) \
	"timeout 300 $(QEMU),arg=boots,arg=200,arg=PARTS"
firmware-size: firmware-rust
	@$(FIRMWARE_SIZE)
firmware-sizes: firmware-rust
	@$(FIRMWARE_SIZE) --update

# littlefs under the FTL for microcontrollers, here and built for a core without an operating system. Its bindings are made
# with libclang: installed where this may be done, else skipped with a line.
LIBCLANG := ldconfig -p | grep -q 'libclang[-.0-9]*so' || [ -n "$$LIBCLANG_PATH" ]
.PHONY: littlefs
littlefs: mcu-tools
	@$(LIBCLANG) || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libclang-dev >/dev/null && \
		echo "installed: libclang"; } || echo "skipped: littlefs; libclang-dev (Debian's name) would be right"
	@{ $(LIBCLANG); } || exit 0; $(CARGO) clippy --quiet -p phelsuma-mcu-storage --all-targets --all-features -- -D warnings && \
		$(CARGO) test --quiet -p phelsuma-mcu-storage --all-features && \
		$(CARGO) run --quiet -p phelsuma-mcu-storage --all-features --example files
	@$(MCU_HAS); { $(LIBCLANG); } || exit 0; RUSTFLAGS="-D warnings" \
		BINDGEN_EXTRA_CLANG_ARGS="-ffreestanding -isystem $$(arm-none-eabi-gcc -print-file-name=include)" \
		$(CARGO) check --quiet -p phelsuma-mcu-storage --lib --all-features --target $(THUMB)

# All of that; thorough-mcu has the long ones.
.PHONY: test-mcu thorough-mcu
test-mcu: mcu-header-check firmware-c mcu-adapters firmware-boots-quick firmware-size littlefs
thorough-mcu: test-mcu firmware-boots
	PHELSUMA_THOROUGH=1 $(MAKE) --no-print-directory littlefs

# FTLs from shared libraries for the laboratory, as examples/plugins has them: one to begin with, the C library for
# microcontrollers with each of its parts, and littlefs, whose sources are in a package of the registry. Whoever has dhara
# names the folder that has its folder: make plugins DHARA=FOLDER.
PLUGINS    := $(or $(CARGO_TARGET_DIR),target)/plugins
PLUGIN_CC  := cc -std=c11 -O2 -fPIC -shared -Icrates/plugin/include -Icrates/mcu-c/include
PLUGIN_WARNS := -Wall -Wextra -Werror
DHARA      ?=
LITTLEFS = $(shell $(CARGO) metadata --format-version 1 --locked --all-features | python3 -c "import json, sys; \
	print(next(p['manifest_path'] for p in json.load(sys.stdin)['packages'] if p['name'] == 'littlefs2-sys'))" | \
	sed 's|Cargo.toml$$|littlefs|')
.PHONY: plugins own-plugins plugins-tried test-plugins
own-plugins:
	@mkdir -p $(PLUGINS)
	$(PLUGIN_CC) $(PLUGIN_WARNS) examples/plugins/page_table.c -o $(PLUGINS)/page-table.so
	$(PLUGIN_CC) $(PLUGIN_WARNS) -DTRUSTS_LAST_PAGE examples/plugins/page_table.c -o $(PLUGINS)/trusts-last-page.so
	@for parts in gecko smallest ram-table; do $(MAKE) --no-print-directory mcu-library MCU_PARTS=$$parts && \
		$(PLUGIN_CC) $(PLUGIN_WARNS) -DPARTS="\"$$parts\"" examples/plugins/phelsuma.c $(MCU_BUILT)/libphelsuma_mcu_c.a \
			-o $(PLUGINS)/phelsuma-c-$$parts.so || exit 1; done
plugins: own-plugins
	@littlefs="$(LITTLEFS)"; $(PLUGIN_CC) -DLFS_NO_MALLOC -DLFS_NO_DEBUG -DLFS_NO_WARN -DLFS_NO_ERROR -I$$littlefs \
		examples/plugins/littlefs.c $$littlefs/lfs.c $$littlefs/lfs_util.c -o $(PLUGINS)/littlefs.so
	$(if $(DHARA),$(PLUGIN_CC) -I$(DHARA) examples/plugins/dhara.c $(DHARA)/dhara/*.c -o $(PLUGINS)/dhara.so)

# The C library under power cuts, through its header: what the laboratory has for any FTL. A plugin without a barrier has to
# be found out.
PHELSUMA_TESTED = $(or $(CARGO_TARGET_DIR),target)/debug/phelsuma
PLUGIN_TRIED := --pages-per-block 16 --blocks 48 --ratio 0.35 --writes 60 --defects
test-plugins: own-plugins
	@$(PHELSUMA_TESTED) crash $(foreach parts,gecko smallest ram-table,--plugin $(PLUGINS)/phelsuma-c-$(parts).so) \
		$(PLUGIN_TRIED) --cuts 40
	@! $(PHELSUMA_TESTED) crash --plugin $(PLUGINS)/trusts-last-page.so $(PLUGIN_TRIED) --cuts 40 >/dev/null

# A table of each plugin and each fault: docs/results/plugins.md has one.
plugins-tried: plugins
	@python3 examples/plugins/faults.py "$(PHELSUMA)" $(wildcard $(PLUGINS)/*.so)

# nbdkit, which serves drives, and clients to try it with: installed where this may be done, else what needs them is
# skipped, with a line.
# The last line is for file systems and databases on a drive.
NBD := nbdkit nbdinfo nbdcopy nbdsh qemu-io fio \
	nbdfuse fusermount3 losetup mkfs.ext4 sqlite3
NBD_PACKAGES := nbdkit libnbd-bin python3-libnbd qemu-utils fio fuse3 mount e2fsprogs sqlite3
nbd-clients:
	@for program in $(NBD); do command -v $$program >/dev/null || missing="$$missing $$program"; done; \
	[ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(NBD_PACKAGES) >/dev/null; \
	then echo "installed:$$missing"; \
	else echo "skipped: tests with$$missing; $(NBD_PACKAGES) (Debian's names) would be right"; fi

# A browser, and a Python that drives it and reads metrics, to look at the page of a drive that is served.
PAGE_VENV := $(or $(CARGO_TARGET_DIR),target)/page-venv
PAGE_MODULES := playwright prometheus_client
page-browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null && \
		echo "installed: chromium"; } || echo "skipped: tests with chromium; chromium (Debian's name) would be right"
	@$(PAGE_VENV)/bin/python -c "import playwright, prometheus_client" 2>/dev/null || \
		{ python3 -m venv $(PAGE_VENV) && $(PAGE_VENV)/bin/pip -q install $(PAGE_MODULES) && \
		echo "installed: $(PAGE_MODULES)"; } || echo "skipped: tests with $(PAGE_MODULES), which pip would install"

# The page with FTLs in it, in one file that opens from disk: $(WEB)/index.html.
WEB  := $(or $(CARGO_TARGET_DIR),target)/browser
WASM := wasm32-unknown-unknown
web:
	@rustup target list --installed 2>/dev/null | grep -qx $(WASM) || rustup target add $(WASM)
	$(CARGO) rustc --quiet -p phelsuma-web --lib --crate-type cdylib --profile web --target $(WASM)
	@python3 crates/web/pack.py $(or $(CARGO_TARGET_DIR),target)/$(WASM)/web/phelsuma_web.wasm $(WEB)/index.html

# It in a browser, and no other test.
test-web: web page-browser
	@$(MAKE) --no-print-directory try TEST=a_browser_shows_drives

# A Python with what the package and its tests need.
PY_VENV := $(or $(CARGO_TARGET_DIR),target)/python-venv
PY_MODULES := numpy pandas pandas-stubs matplotlib pyarrow distributed pytest mypy ruff pdoc
PY_HAS_ALL := -c "import numpy, pandas, matplotlib, pyarrow, distributed, pytest, mypy, ruff, pdoc" 2>/dev/null
python-venv:
	@$(PY_VENV)/bin/python $(PY_HAS_ALL) || { python3 -m venv $(PY_VENV) && $(PY_VENV)/bin/pip -q install $(PY_MODULES) && \
		echo "installed: $(PY_MODULES)"; } || echo "skipped: tests of the Python package, for which pip would install $(PY_MODULES)"

# The Python package there, with the engine as tests are built. All of the workspace is named, so that what was built for
# tests is what it stands on; a wheel would compile the engine once more (thorough-python). Where pip has nothing this does
# nothing.
PY_PACKAGE = $(shell $(PY_VENV)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/phelsuma
put-package = ! $(PY_VENV)/bin/python $(PY_HAS_ALL) || { rm -rf $(PY_PACKAGE) && cp -r python/phelsuma $(PY_PACKAGE) && \
	cp $(or $(CARGO_TARGET_DIR),target)/$(1)/libphelsuma_engine.so $(PY_PACKAGE)/_engine.abi3.so; }
python-package: python-venv
	$(TESTED) build --workspace $(FEATURES) --quiet
	@$(call put-package,debug)

# It against the command; skipped where pip has nothing.
test-python: python-package
	@! $(PY_VENV)/bin/python $(PY_HAS_ALL) || $(MAKE) --no-print-directory python-checks PY=$(PY_VENV)/bin/python

# Pages of HTML of what the package has, from its docstrings; and the pictures of docs/GALLERY.md.
python-doc: python-package
	$(PY_VENV)/bin/python -m pdoc -d google -o $(or $(CARGO_TARGET_DIR),target)/python-doc phelsuma phelsuma.plot
gallery: python-package
	$(PY_VENV)/bin/python docs/gallery.py

.PHONY: docs drawings prose
# Writes docs/drawings/*.svg.
drawings:
	@python3 docs/drawings.py

# The documentation as a site that opens from disk: $(SITE)/index.html. The report of the papers and the pages of the Python
# package are in it where they have been made.
SITE := $(or $(CARGO_TARGET_DIR),target)/site
SITE_VENV := $(or $(CARGO_TARGET_DIR),target)/site-venv
SITE_MODULES := mkdocs-material==9.*
docs:
	@$(SITE_VENV)/bin/python -c "import material, mkdocs" 2>/dev/null || { python3 -m venv $(SITE_VENV) && \
		$(SITE_VENV)/bin/pip -q install "$(SITE_MODULES)" && echo "installed: $(SITE_MODULES)"; }
	@python3 docs/website.py $(SITE)-source $(dir $(SITE)) >/dev/null
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet --strict -f $(SITE)-source/mkdocs.yml -d $(abspath $(SITE))
	@echo $(SITE)/index.html

# Every claim of the papers tried anew, with nothing that is stored, and a page of HTML of what came of it. A paper that
# fails does not keep the others from theirs.
REPORT := $(or $(CARGO_TARGET_DIR),target)/report
REPORT_OF := $(notdir $(patsubst %/claims.toml,%,$(wildcard papers/*/claims.toml)))
report: python-venv
	$(CARGO) build --release -p phelsuma-cli -p phelsuma-py
	@$(call put-package,release)
	rm -rf $(REPORT)
	@failed=; for paper in $(REPORT_OF); do \
		mkdir -p $(REPORT)/papers/$$paper && cp papers/$$paper/claims.toml $(REPORT)/papers/$$paper/ && \
		echo "claims of $$paper" && $(or $(CARGO_TARGET_DIR),target)/release/phelsuma claims run $$paper \
			--papers $(REPORT)/papers || failed="$$failed $$paper"; done; \
	$(PY_VENV)/bin/python -m phelsuma.report $(REPORT)/papers -o $(REPORT)/report.html || exit 1; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# Another Python's package may be tried as well.
PY := $(PY_VENV)/bin/python
python-checks:
	@$(PY) -m ruff check --no-cache --quiet python docs/*.py crates/web && $(PY) -m ruff format --no-cache --quiet --check python docs/*.py crates/web
	@PHELSUMA_COMMAND=$(abspath $(or $(CARGO_TARGET_DIR),target))/debug/phelsuma $(PY) -m pytest -q -p no:cacheprovider python/tests

# Everything CI runs. What is fetched is fetched while the first things are compiled. The Python tests, which use one core,
# run beside the others, and are shown after them.
PY_LOG := $(or $(CARGO_TARGET_DIR),target)/python-tests.log
test:
	@$(MAKE) --no-print-directory nbd-clients page-browser python-venv & fetching=$$!; \
	$(MAKE) --no-print-directory lint no-std; checked=$$?; wait $$fetching && exit $$checked
	@$(MAKE) --no-print-directory web
	$(TESTED) test --workspace $(FEATURES) --quiet --no-run
	@$(MAKE) --no-print-directory python-package mcu-header-check test-plugins
	@$(MAKE) --no-print-directory test-python >$(PY_LOG) 2>&1 & python=$$!; \
	$(TESTED) test --workspace $(FEATURES) --quiet --no-fail-fast; tested=$$?; \
	wait $$python; checked=$$?; cat $(PY_LOG); exit $$((tested | checked))

# One test out of these, by a part of its name: make try TEST=json_keys. With -p cargo would choose other features for what
# the crates stand on, and build most of it once more; so all of the workspace is named, and of it the integration tests.
# `IN=` has unit tests as well.
IN ?= --test it
try:
	@[ -n "$(TEST)" ] || { echo "make try TEST=NAME: which test, or a part of its name?" >&2; exit 2; }
	$(TESTED) test --workspace $(FEATURES) --quiet $(IN) -- $(TEST)

# The harness proves itself: FTLs that each forget one rule are caught, each. These are the tests for that alone.
mutants:
	$(TESTED) test --quiet -p phelsuma-ftl -p phelsuma-drive --lib --test it mutants

# A crate of somebody's own, outside the workspace, with policies that nothing here knows, built as its author builds it: all
# crates once more. `make test` has the same tests run against it as an example of the command's.
my-policy:
	@cp Cargo.lock examples/my_policy/Cargo.lock
	CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target)) $(CARGO) test --quiet \
		--manifest-path examples/my_policy/Cargo.toml

# Writes docs/MUTANTS.md: what caught each of them.
mutants-table:
	PHELSUMA_UPDATE_MUTANTS=1 $(TESTED) test --quiet -p phelsuma-drive --test it mutants

# Writes docs/reference/parameters.md: every part and parameter that can be set.
parameters:
	PHELSUMA_UPDATE_PARAMETERS=1 $(TESTED) test --quiet -p phelsuma-options --lib every_part_and_parameter_is_in_the_reference

# Writes docs/reference/ideas.md: every source file, with the first sentence of its documentation.
ideas:
	PHELSUMA_UPDATE_IDEAS=1 $(TESTED) test --quiet -p phelsuma-house the_first_sentence_of_each_file_is_in_the_reference

# The long sweeps, in parts that can be run one by one: make thorough PART=crash
PARTS := tests my-policy python crash defects dies determinism plug mcu
PART  ?= $(PARTS)
thorough:
	@for part in $(PART); do $(MAKE) --no-print-directory thorough-$$part || exit 1; done

thorough-determinism: determinism

# Every test with its long mode on, but for those of `plug`.
thorough-tests:
	PHELSUMA_THOROUGH=1 $(TESTED) test --workspace $(FEATURES) --quiet -- $(addprefix --skip ,$(PLUGS))

thorough-my-policy: my-policy

# The package as a user installs it, in an environment of its own.
PY_FRESH := $(or $(CARGO_TARGET_DIR),target)/python-fresh
thorough-python:
	$(CARGO) build --workspace --quiet
	rm -rf $(PY_FRESH) && python3 -m venv $(PY_FRESH) && $(PY_FRESH)/bin/pip -q install . $(PY_MODULES)
	@PHELSUMA_THOROUGH=1 $(MAKE) --no-print-directory python-checks PY=$(PY_FRESH)/bin/python

# Every program and erase of a workload, every fault; then some of every workload, recoveries cut as well.
thorough-crash:
	$(PHELSUMA) crash --ftl $(FTLS),$(BATTERY),$(PAGED) --operations 3500 --seed 1
	$(PHELSUMA) crash $(ON_MU) --operations 3500 --seed 1
	$(PHELSUMA) crash $(ON_MU) $(FULL_CACHES) --workload all --writes 1000 --cuts 300 --seed 1
	$(PHELSUMA) crash --ftl $(FTLS),$(BATTERY),$(PAGED) --workload all --writes 1000 --cuts 1 --nested --seed 1
	$(PHELSUMA) crash $(ON_MU) --workload all --writes 1000 --cuts 1 --nested --seed 1
	$(PHELSUMA) crash $(ON_OURS) --ratio 0.3 --operations 3500 --seed 1
	$(PHELSUMA) crash $(ON_OURS) --ratio 0.3 --workload all --writes 1000 --cuts 1 --nested --seed 1
	$(PHELSUMA) soak $(ON_OURS) --cycles 10000

# Hours: every program and erase of every workload with two seeds, pairs of cuts, and soaks, as docs/TESTING.md has them.
# Each FTL, or those alone that SWEEP names: SWEEP=bast,fast
SWEEP ?= $(FTLS),$(MU),$(BATTERY),$(PAGED),$(OURS)
SWEPT  = $(subst $(comma), ,$(SWEEP))
OTHERS = $(filter-out $(MU) $(OURS),$(SWEPT))
overnight: $(if $(OTHERS),overnight-most) $(if $(filter $(MU),$(SWEPT)),overnight-mu-ftl) \
	$(if $(filter $(OURS),$(SWEPT)),overnight-ours)
overnight-most: MOST = $(subst $() ,$(comma),$(strip $(OTHERS)))
overnight-most:
	$(PHELSUMA) crash --ftl $(MOST) --workload all --operations 3500
	$(PHELSUMA) crash --ftl $(MOST) --workload all --operations 3500 --seed 2 --pages-per-block 16
	$(PHELSUMA) crash --ftl $(MOST) --workload mixed,restarts --writes 60 --nested --faults not-started,torn-seen
	$(PHELSUMA) crash --ftl $(MOST) --workload all --writes 1000 --cuts 10 --nested
	$(PHELSUMA) soak --ftl $(MOST) --cycles 100000

overnight-mu-ftl:
	$(PHELSUMA) crash $(ON_MU) --workload all --operations 3500
	$(PHELSUMA) crash --ftl $(MU) --blocks 96 --pages-per-block 8 --ratio 0.4 --workload all --operations 3500 --seed 2
	$(PHELSUMA) crash $(ON_MU) --workload mixed,restarts --writes 60 --nested --faults not-started,torn-seen
	$(PHELSUMA) crash $(ON_MU) --workload all --writes 1000 --cuts 12 --nested
	$(PHELSUMA) soak --ftl $(MU) --cycles 1000000

overnight-ours:
	$(PHELSUMA) crash $(ON_OURS) --ratio 0.3 --workload all --operations 3500
	$(PHELSUMA) crash $(ON_OURS) --ratio 0.3 --workload mixed,restarts --writes 60 --nested --faults not-started,torn-seen
	$(PHELSUMA) crash $(ON_OURS) --ratio 0.3 --workload all --writes 1000 --cuts 10 --nested
	$(PHELSUMA) soak $(ON_OURS) --cycles 100000

# What befalls a drive besides power cuts; and recoveries that are cut again and again.
EACH  := page,dual-greedy,dac,block,bast,fast,superblock,last++,$(BATTERY),$(PAGED)
thorough-defects:
	$(PHELSUMA) crash --ftl $(EACH) --workload all --writes 300 --cuts 100 --defects --factory-bad 5 \
		--ratio 0.4 --seed 1
	$(PHELSUMA) crash $(ON_MU) --workload all --writes 300 --cuts 100 --defects --factory-bad 5 --seed 1
	$(PHELSUMA) crash $(ON_OURS) --workload all --writes 300 --cuts 100 --defects --factory-bad 5 --ratio 0.3 --seed 1
	$(PHELSUMA) crash $(ON_OURS) --writes 300 --cuts 20 --again 300 --faults torn-seen,not-started --ratio 0.3 --seed 1
	$(PHELSUMA) crash --ftl page,bast,fast,superblock,last++,$(PAGED) --writes 300 --cuts 20 --again 300 \
		--faults torn-seen,not-started --seed 1
	$(PHELSUMA) crash $(ON_MU) --writes 300 --cuts 20 --again 300 --faults torn-seen,not-started --seed 1

# Cuts that meet several dies at work, and recoveries of recoveries.
thorough-dies:
	$(PHELSUMA) crash --ftl $(FTLS) --writes 3000 --cuts 600 --channels 2 --dies 2 --ratio 0.25 --seed 2
	$(PHELSUMA) crash --ftl $(MU),$(PAGED) --writes 1000 --cuts 200 --channels 2 --dies 2 --ratio 0.25 --seed 2
	$(PHELSUMA) crash $(ON_OURS) --writes 1000 --cuts 200 --channels 2 --dies 2 --ratio 0.15 --seed 2
	$(PHELSUMA) crash --ftl $(MM) --workload all --writes 1000 --cuts 200 --channels 2 --blocks 128 --ratio 0.4 --seed 2
	$(PHELSUMA) crash --ftl $(MM) --writes 300 --cuts 30 --nested --channels 2 --blocks 128 --ratio 0.4 --seed 2
	$(PHELSUMA) crash --ftl $(MM) --workload all --writes 300 --cuts 60 --defects --channels 2 --blocks 128 --ratio 0.4
	$(PHELSUMA) crash --ftl $(BATTERY) --writes 3000 --channels 2 --dies 2 --ratio 0.25 --seed 2
	$(PHELSUMA) crash --ftl $(FTLS) --writes 3000 --cuts 30 --nested --depth 3 --seed 3 --faults not-started,torn-seen
	$(PHELSUMA) crash $(ON_MU) --writes 300 --cuts 8 --nested --depth 3 --seed 3 --faults not-started,torn-seen

# Servers of drives in files that are killed in the middle of their load, and drives whose power is cut there: 1,000 times
# each with geckoftl, 100 times with each other FTL, or with those alone that PLUG names: PLUG=bast,fast
PLUGS := what_was_acknowledged_before_a a_drive_whose_battery files_and_transactions
thorough-plug: nbd-clients
	PHELSUMA_THOROUGH=1 PHELSUMA_FTLS=$(PLUG) $(CARGO) test -p phelsuma-cli \
		--test it -- --nocapture \
		$(PLUGS)

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(FEATURES) --quiet -- -D warnings --cfg phelsuma_mutants
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps $(FEATURES) --quiet
	@$(MAKE) --no-print-directory prose

# Words a sentence, and sizes, of what people read first, against their limits.
prose:
	@python3 docs/prose.py

# Circles of files, walls between folders, and counts of the code against their limits; tests hold them.
house:
	@$(CARGO) run --quiet -p phelsuma-house

# The flash and FTL crates build for a microcontroller without an operating system. Here alone they are built without
# mutants before anything lands, so what is left unused without them is an error here. So are the FTL for microcontrollers,
# its C interface with each of the parts, and the adapters for other crates that need no C compiler.
no-std:
	@rustup target list --installed 2>/dev/null | grep -qx $(THUMB) || rustup target add $(THUMB)
	CARGO_PROFILE_DEV_OPT_LEVEL=0 RUSTFLAGS="-D warnings" $(CARGO) build --quiet -p phelsuma-nand -p phelsuma-ftl --no-default-features --target $(THUMB)
	@for parts in gecko smallest ram-table; do RUSTFLAGS="-D warnings" $(CARGO) check --quiet -p phelsuma-mcu-c --lib \
		--no-default-features --features $$parts --target $(THUMB) || exit 1; done
	@for adapters in "" fat; do RUSTFLAGS="-D warnings" $(CARGO) check --quiet -p phelsuma-mcu-storage --lib \
		--features "$$adapters" --target $(THUMB) || exit 1; done
	@CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),target)) $(CARGO) check --quiet \
		--manifest-path examples/firmware-rust/Cargo.toml --target $(THUMB)

# Debug, release and 32-bit builds come to the same flash, figures and crash reports.
DETERMINISM := -p phelsuma-drive --test it --quiet determinism
determinism: determinism-32
	PHELSUMA_THOROUGH=1 $(CARGO) test $(DETERMINISM)
	PHELSUMA_THOROUGH=1 $(CARGO) test --release $(DETERMINISM)

determinism-32:
	@rustup target list --installed 2>/dev/null | grep -qx $(I686) || rustup target add $(I686)
	CARGO_TARGET_I686_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
		PHELSUMA_THOROUGH=1 $(CARGO) test --no-default-features --target $(I686) $(DETERMINISM)

# What the page costs the drive that it shows; docs/PERFORMANCE.md says how to read it.
bench-page:
	$(CARGO) build --release -p phelsuma-cli
	@for ftl in geckoftl page; do \
		python3 crates/page/cost.py --ftl $$ftl --phelsuma $(or $(CARGO_TARGET_DIR),target)/release/phelsuma || exit 1; done

# Speed and memory of the simulation; docs/PERFORMANCE.md says how to read it.
bench:
	$(CARGO) bench --quiet -p phelsuma-drive --bench speed

# States a minute and core that torture checks; takes root.
torture-bench:
	$(CARGO) bench --quiet -p phelsuma-torture --bench states

# Random writes to served drives, fresh and full, in turn with nbdkit's own disk in memory.
bench-serve: nbd-clients
	$(CARGO) bench --quiet -p phelsuma-cli --bench serve
