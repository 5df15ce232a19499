# SPDX-License-Identifier: Apache-2.0
# A thin front for people; Meson and Ninja do the work.
BUILD ?= build
PREFIX ?= /usr/local
# Below PREFIX: where Debian's pkg-config and ldconfig look by themselves, whatever a distribution would call it.
LIBDIR ?= lib
STORE ?=
ADDRESS ?= 127.0.0.1:27017
HTTP ?= 127.0.0.1:8080
# For `make test` and `make clients`: names of tests, or --suite NAME (not both).
TESTS ?=

.PHONY: all build run test clients bench check install clean

all: build

$(BUILD)/build.ninja:
	@tools/deps.sh build
	tools/configure.sh $(BUILD) 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)'

# What is installed; the tests are built by `make test`.
build: $(BUILD)/build.ninja
	@tools/deps.sh build
	@ninja -C $(BUILD) product

# A server on an embedded store; ADDRESS=host:port, HTTP=host:port and STORE=folder choose.
run: build
	@tools/run.sh $(BUILD)/ashlar '$(ADDRESS)' '$(HTTP)' '$(STORE)'

# The project's own suites, and pymongo and libmongoc.  Ends with "N passed, N failed, N skipped".
test:
	@tools/deps.sh test
	@tools/test.sh $(BUILD) own $(TESTS)

# Everybody else's drivers, tools and servers; fetches much more.
clients:
	@tools/deps.sh clients
	@tools/test.sh $(BUILD) clients $(TESTS)

# What takes longer: both compilers, sanitizers, headers alone, layering, sizes.
check:
	@tools/deps.sh check
	@tools/check.sh

bench: build
	@bench/run.sh $(BUILD)

# PREFIX=folder where it is to go, LIBDIR=the libraries' place in it; DESTDIR=folder to put it together in.
install: build
	@tools/configure.sh $(BUILD) 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)'
	ninja -C $(BUILD) product
	meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) build-*
