# What people type and CI runs. Every target works on a fresh clone with nothing but Go; the servers that some tests
# run are installed by .ci/run, and tests say which one they miss.

GO ?= go
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS = -X github.com/bloodhound-dst/bloodhound/internal/program.version=$(VERSION) -X github.com/bloodhound-dst/bloodhound/internal/program.revision=$(COMMIT)
# How long one `make soak` may take.
SOAK_TIMEOUT ?= 3h

# The trials of `make bench-bugs`, and its other flags, such as BUGS_FLAGS='--trials 3 --strategies coverage-guided'.
BUGS_JOURNAL ?= bench-bugs.jsonl
BUGS ?= $(shell cat bench/bugs/list)
BUGS_FLAGS ?=

# How long the tests of one package may take: a busy machine is slow, not wrong.
TEST_TIMEOUT ?= 40m

# The folder of the module live, where the go command finds its go.work.
LIVE = $(GO) -C live
# The same of the module drivers.
DRIVERS = $(GO) -C drivers
# The folders of the modules whose tests and rules this file runs. Tests run those of other modules below them.
MODULES = . live drivers bench examples examples/inprocess/bank examples/inprocess/checkout examples/redis
# Modules whose go.mod has nothing of Bloodhound, which their tests need: those take it from the checkout, by checkout.mod.
APART = examples/quickstart examples/servers
# Calls the go command in modules, one after the other, and says how long each took: $(call in,$(MODULES),vet,./...). each does so in all.
in = $(foreach module,$(1),$(call timed,$(2) $(if $(filter $(module),$(APART)),-modfile=checkout.mod) $(3)) &&) true
each = $(call in,$(MODULES) $(APART),$(1),$(2))
timed = began=$$(date +%s) && $(GO) -C $(module) $(1) && echo "module $(module): $$(( $$(date +%s) - began )) s, go $(firstword $(1))"

.PHONY: build test test-core test-others lint tidy soak bench contest bench-bugs release site clean

# Without cgo the programs are static, and no library of the machine is a part of a run.
# The driver program, which runs inside worlds, is embedded. Its bytes depend on the source alone, not on the commit.
DRIVER = internal/driver/driverfile/bloodhound-driver.pack

build: ## bin/bloodhound, bin/bloodhound-live and bin/bloodhound-drivers
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o bin/bloodhound-driver ./cmd/bloodhound-driver
	$(GO) run ./internal/driver/pack bin/bloodhound-driver $(DRIVER)
	CGO_ENABLED=0 $(GO) build -tags embed_driver -ldflags "$(LDFLAGS)" -o bin/bloodhound ./cmd/bloodhound
	CGO_ENABLED=0 $(LIVE) build -ldflags "$(LDFLAGS)" -o ../bin/bloodhound-live ./cmd/bloodhound-live
	CGO_ENABLED=0 $(DRIVERS) build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o ../bin/bloodhound-drivers ./cmd/bloodhound-drivers

test: build ## all tests, a slice of the long ones; `make lint` vets
	@$(MAKE) --no-print-directory -j2 test-core test-others

# The tests of most modules are one long package, which keeps one CPU busy. The core's packages run beside them.
test-core:
	@$(call in,.,test -vet=off -timeout $(TEST_TIMEOUT),./...)

test-others:
	@$(call in,$(filter-out .,$(MODULES)) $(APART),test -vet=off -p 1 -timeout $(TEST_TIMEOUT),./...)

lint: ## formatting, vet for all systems, and the rules of internal/lint
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	@$(call each,vet,./...)
	$(GO) run ./internal/lint/elsewhere darwin/arm64,linux/arm64 $(MODULES) $(addsuffix =checkout.mod,$(APART))
	$(GO) test ./internal/lint/...

# `go mod tidy` knows no workspace, so the root stands in for its release meanwhile.
tidy: ## go.mod and go.sum of all modules
	$(GO) mod tidy
	$(GO) -C bench mod tidy
	$(GO) -C examples mod tidy
	for module in sdk/*/go.mod; do $(GO) -C $$(dirname $$module) mod tidy || exit; done
	$(foreach module,$(APART),$(GO) -C $(module) mod tidy -modfile=checkout.mod &&) true
	for module in live drivers examples/inprocess/bank examples/inprocess/checkout examples/inprocess/raft; do \
		$(GO) -C $$module mod edit -replace github.com/bloodhound-dst/bloodhound=$(CURDIR) || exit; \
		GOWORK=off $(GO) -C $$module mod tidy; code=$$?; \
		$(GO) -C $$module mod edit -dropreplace github.com/bloodhound-dst/bloodhound; [ $$code = 0 ] || exit $$code; \
	done

# BLOODHOUND_TLC_JAR=JAR has TLC check again what its recorded answers are for, 20,000 random specifications among others;
# BLOODHOUND_TLC_MODELS=FOLDER names the models of TLC's own tests. Both are paths from the root of the file system.
soak: build ## the whole matrix of the long tests
	@export BLOODHOUND_SOAK=1; $(call each,test -count=1 -timeout $(SOAK_TIMEOUT),./...)

bench: build ## the table of bench/RESULTS.md, measured on this machine
	$(GO) -C bench run . -write RESULTS.md
	$(GO) test -run '^$$' -bench 'BesidePorcupine|HundredThousand|Transactions' -benchtime 1x ./internal/check/histories ./internal/check/isolation

# Runs read the program, so a journal goes on only with the same bytes at the same place.
contest: ## bin/contest, which compares strategies, guides and builds: bench/CONTEST.md
	CGO_ENABLED=0 $(GO) -C bench build -trimpath -buildvcs=false -o ../bin/contest ./contest

bench-bugs: contest ## how soon each strategy finds each bug that bench/bugs/list names: many hours; started again, it goes on
	bin/contest strategies $(BUGS) --journal $(BUGS_JOURNAL) $(if $(wildcard $(BUGS_JOURNAL)),--resume) --table $(BUGS_FLAGS)

release: ## dist/: archives, packages and images of the commit, with checksums, and a proxy of its modules
	$(GO) run ./release -o dist

site: ## site/public: the documentation as web pages with search; look at it with `python3 -m http.server -d site/public`
	@command -v mkdocs >/dev/null || { echo "make site needs mkdocs and its theme: apt-get install mkdocs mkdocs-material" >&2; exit 2; }
	mkdocs build --strict --quiet --config-file site/mkdocs.yml

clean:
	rm -rf bin dist site/public
