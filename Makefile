# SPDX-License-Identifier: Apache-2.0
# A thin front for people; Meson and Ninja do the work.
BUILD ?= build
PREFIX ?= /usr/local
STORE ?=
ADDRESS ?= 127.0.0.1:27017

.PHONY: all build run test bench check install clean

all: build

$(BUILD)/build.ninja:
	@tools/deps.sh build
	meson setup $(BUILD) --prefix $(PREFIX)

# What is installed; the tests are built by `make test`.
build: $(BUILD)/build.ninja
	@tools/deps.sh build
	@ninja -C $(BUILD) product

# A server on an embedded store; ADDRESS=host:port and STORE=folder choose.
run: build
	@tools/run.sh $(BUILD)/ashlar '$(ADDRESS)' '$(STORE)'

# Everything that can fail, in one command.  Ends with "N passed, N failed".
test:
	@tools/deps.sh test
	@tools/test.sh $(BUILD)

# What takes longer: both compilers, sanitizers, headers alone, layering, sizes.
check:
	@tools/deps.sh check
	@tools/check.sh

bench: build
	@bench/run.sh $(BUILD)

# PREFIX=folder where it is to go; DESTDIR=folder to put it together in.
install: build
	@meson introspect $(BUILD) --buildoptions | grep -qF '"name": "prefix", "value": "$(PREFIX)"' || \
		meson configure $(BUILD) --prefix '$(PREFIX)'
	ninja -C $(BUILD) product
	meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) build-*
