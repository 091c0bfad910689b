# The front door. Everything is built by CMake; this names what people want.
#
#   make            build into build/ (installs what is missing first)
#   make demo       record a sample job and show what came of it
#   make check      all tests
#   make soak       faults, kills and power cuts for two hours (SECONDS=7200)
#   make bench      the comparison table
#   make corpus     programs with a known bottleneck: how often the diagnosis names it (30 minutes)
#   make screenshots  every page of the server as a picture, in build/screenshots
#   make install PREFIX=/usr/local

PREFIX ?= /usr/local
SECONDS ?= 7200

.PHONY: all demo check check-interop soak bench corpus screenshots install clean format lint man fuzz deps-build deps-check deps-bench

all: deps-build
	@scripts/build release product

deps-build:
	@scripts/deps build

deps-check:
	@scripts/deps build check
	@scripts/deps-npm

deps-bench:
	@scripts/deps bench

demo: all
	@scripts/demo

check: deps-check
	@scripts/check

check-interop: deps-check
	@scripts/deps interop
	@scripts/deps programs || echo 'not every program of tests/interop/cases is there: what is missing is skipped'
	@scripts/deps-npm interop
	@scripts/check interop

# another seed each time: what fails is repeated by the one that is printed, and kept in tests/soak/seeds
soak: deps-check
	@scripts/build release product histories
	@PL_SOURCE=$(CURDIR) PL_BUILD=$(CURDIR)/build build/tests/histories --seeds tests/soak/seeds \
		--seed $$(date +%s) --seconds $(SECONDS)

bench: deps-check deps-bench
	@scripts/build release
	@scripts/bench

# on an otherwise idle machine: what else runs is a neighbour
corpus: deps-check
	@scripts/deps corpus
	@scripts/build release
	@tests/corpus/run $(CORPUS)
	@[ -n "$(CORPUS)" ] || [ "$$(id -u)" != 0 ] || tests/corpus/crosscheck

screenshots: deps-check
	@scripts/build release
	@scripts/screenshots

install: all
	@cmake --install build --prefix "$(PREFIX)"

man: all
	@scripts/man

format:
	@scripts/files '*.c' '*.h' | xargs clang-format -i

lint: deps-check
	@scripts/lint

fuzz: deps-check
	@scripts/deps fuzz
	@scripts/fuzz

clean:
	rm -rf build build-*
