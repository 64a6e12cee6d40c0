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
TEST_TIMEOUT ?= 20m

# The folder of the module live, where the go command finds its go.work.
LIVE = $(GO) -C live

.PHONY: build test lint tidy soak bench bench-bugs release clean

# Without cgo the programs are static, and no library of the machine is a part of a run.
# The driver program, which runs inside worlds, is embedded. Its bytes depend on the source alone, not on the commit.
DRIVER = internal/driver/driverfile/bloodhound-driver.pack

build: ## bin/bloodhound and bin/bloodhound-live
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o bin/bloodhound-driver ./cmd/bloodhound-driver
	$(GO) run ./internal/driver/pack bin/bloodhound-driver $(DRIVER)
	CGO_ENABLED=0 $(GO) build -tags embed_driver -ldflags "$(LDFLAGS)" -o bin/bloodhound ./cmd/bloodhound
	CGO_ENABLED=0 $(LIVE) build -ldflags "$(LDFLAGS)" -o ../bin/bloodhound-live ./cmd/bloodhound-live

test: build ## all tests, a slice of the long ones; `make lint` vets
	$(GO) test -vet=off -timeout $(TEST_TIMEOUT) ./...
	$(LIVE) test -vet=off -timeout $(TEST_TIMEOUT) ./...

lint: ## formatting, vet on all systems, and the rules of internal/lint
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(LIVE) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(LIVE) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(LIVE) vet ./...
	$(GO) test ./internal/lint

# `go mod tidy` knows no workspace, so the root stands in for its release meanwhile.
tidy: ## go.mod and go.sum of the root and of live
	$(GO) mod tidy
	$(LIVE) mod edit -replace github.com/bloodhound-dst/bloodhound=..
	GOWORK=off $(LIVE) mod tidy; code=$$?; $(LIVE) mod edit -dropreplace github.com/bloodhound-dst/bloodhound; exit $$code

# BLOODHOUND_TLC_JAR=JAR has TLC check again what its recorded answers are for, 20,000 random specifications among others;
# BLOODHOUND_TLC_MODELS=FOLDER names the models of TLC's own tests. Both are paths from the root of the file system.
soak: build ## the whole matrix of the long tests
	BLOODHOUND_SOAK=1 $(GO) test -count=1 -timeout $(SOAK_TIMEOUT) ./...
	BLOODHOUND_SOAK=1 $(LIVE) test -count=1 -timeout $(SOAK_TIMEOUT) ./...

bench: build ## the table of bench/RESULTS.md, measured on this machine
	$(GO) run ./bench -write bench/RESULTS.md
	$(GO) test -run '^$$' -bench 'BesidePorcupine|HundredThousand|Transactions' -benchtime 1x ./internal/check/histories ./internal/check/isolation

# Runs read the program, so a journal goes on only with the same bytes at the same place.
bench-bugs: ## how soon each strategy finds each bug that bench/bugs/list names: many hours; started again, it goes on
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/contest ./bench/contest
	bin/contest strategies $(BUGS) --journal $(BUGS_JOURNAL) $(if $(wildcard $(BUGS_JOURNAL)),--resume) --table $(BUGS_FLAGS)

release: ## dist/: archives, packages and images of the commit, with checksums
	$(GO) run ./release -o dist

clean:
	rm -rf bin dist
