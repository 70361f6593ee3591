# The developer's commands. `make check` is what .ci/run runs.

GO ?= go
GOLANGCI_VERSION := v2.15.0
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64

.PHONY: bench-view bench-ordinary real container dynamic bench-schedules same faults release cross-vet slurm beam bench-explore correct fuzz-hour
.PHONY: dead picture examples-go go-race-tests go-modules bench-go
.PHONY: build test test-long lint check examples tsan-twins bench bench-record bench-peers bench-sim bench-grammar bench-races bench-tasks bench-artifacts bench-orders bench-debug bench-replay bench-predict bench-papers bench-wet fuzz clean

build:            ## bin/hindsight
	$(GO) build -o bin/hindsight ./cmd/hindsight

test:             ## the README's test command: the short forms of the tests, a few minutes
	$(GO) test ./...

test-long:        ## all tests in their long forms, as CI runs them
	HINDSIGHT_LONG=1 $(GO) test -timeout 20m ./...

lint:             ## go vet, gofmt and golangci-lint
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change the files above"; exit 1; }
	$(GO) vet ./...
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run ./...

dead:             ## list functions that no command reaches and that have no reason in .ci/dead: there must be none
	.ci/dead

check: lint test  ## everything that must be green, and a clean tree afterwards

examples:         ## rebuild the embedded example programs from their C sources
	$(GO) run ./examples/build

examples-go:      ## rebuild the embedded gallery of Go with the installed Go
	$(GO) run ./examples/golang/build

go-race-tests:    ## the race tests of the installed Go, each under 5 seeds: found, missed and false by file (docs/go.md; takes a quarter of an hour)
	$(GO) build -o bin/hindsight ./cmd/hindsight
	$(GO) run ./cmd/hindsight/gorace -hindsight $(CURDIR)/bin/hindsight $(GORACE)

go-modules:       ## the tests of Go modules under go test -race and under hindsight, verdicts side by side (docs/go.md; needs gcc and a network)
	$(GO) build -o bin/hindsight ./cmd/hindsight
	$(GO) run ./cmd/hindsight/gomodules -hindsight $(CURDIR)/bin/hindsight $(GOMODULES)

tsan-twins:       ## the twins of examples/sync natively under ThreadSanitizer; every difference is explained
	$(GO) test -count=1 -run SyncTSan ./cmd/hindsight -tsan-twins -v

dynamic:          ## all twins of examples/sync, dynamically linked (some minutes)
	HINDSIGHT_LONG=1 HINDSIGHT_ALL_TWINS=1 go test ./cmd/hindsight -run TestDynamicTwins -timeout 120m

picture:          ## the README's picture of the page (needs chromium)
	$(GO) test -count=1 -run TestViewPicture ./cmd/hindsight -view-picture $(CURDIR)/docs/figures/view.png

bench:            ## whole runs: simulated, recorded, and under qemu, as ratios (docs/measuring.md)
	$(GO) test -run '^$$' -bench 'Run$$' -benchtime 3x ./cmd/hindsight

bench-ordinary:   ## races against the recording of ordinary programs that synchronise often, in processor time
	$(GO) test -run '^$$' -bench Ordinary -benchtime 1x -timeout 1h ./cmd/hindsight

bench-record:     ## recording against Helgrind on the same sources (needs valgrind)
	$(GO) test -run '^$$' -bench RecordAgainstHelgrind -benchtime 1x ./cmd/hindsight

bench-peers:      ## native, qemu, ThreadSanitizer, Helgrind, simulated, recorded, analysed: tables, and where the time goes (docs/measuring.md; quarter of an hour)
	$(GO) test -run '^$$' -bench 'Peers$$' -benchtime 3x -timeout 2h ./cmd/hindsight

bench-sim:        ## the interpreter alone
	$(GO) test -run '^$$' -bench . ./mpsim ./mpsim/fpu

bench-grammar:    ## Sequitur and the recorder
	$(GO) test -run '^$$' -bench . ./wpp ./cdr

bench-races:      ## the race analysis
	$(GO) test -run '^$$' -bench . ./analyze/...

bench-tasks:      ## the race analysis of OpenMP tasks, in microseconds a task (needs the cross compiler)
	$(GO) test -run '^$$' -bench Tasks -benchtime 5x ./analyze/race

bench-artifacts:  ## the cost of finding artifacts, as a ratio to finding the races
	$(GO) test -run '^$$' -bench Artifacts -benchtime 10x ./analyze/artifact

bench-predict:    ## runs until a rare race shows: random, pct, and with predictions (needs the cross compiler)
	$(GO) test -run '^$$' -bench Predict -benchtime 1x -timeout 60m ./mpsim/witness

bench-replay:     ## instructions that confirm and minimize simulate with checkpoints, against the same runs from the beginning
	$(GO) test -run '^$$' -bench 'Checkpoints$$' -benchtime 1x ./mpsim/confirm ./mpsim/steer

bench-orders:     ## each order, the reading of the trace included, against a plain FastTrack in memory (needs the cross compiler)
	$(GO) test -run '^$$' -bench Orders -benchtime 1x ./analyze/order

bench-debug:      ## the last write to memory by the index of the trace, against watching it from the beginning
	$(GO) test -run '^$$' -bench LastWrite ./mpsim/session

bench-papers:     ## the papers' tables on the kernels, published figures beside them (docs/paper-tables.md)
	$(GO) run ./cmd/papertables --plots docs/figures $(COMPARE)

bench-wet:        ## whole execution traces: MICRO 2004's tables, published averages beside them (docs/slices.md)
	$(GO) run ./cmd/papertables --table micro2004 $(COMPARE)

bench-go:         ## recording Go programs against the native race detector, size, analysis (docs/go.md; needs gcc)
	$(GO) test -run '^$$' -bench GoAgainstRace -benchtime 1x -timeout 1h ./cmd/hindsight

bench-schedules:  ## how many runs show races that depend on the schedule, by policy (docs/exploring.md)
	$(GO) test -run '^$$' -bench 'Schedules|Coverage' -benchtime 1x -timeout 1h ./cmd/hindsight

bench-view:       ## the page of runs of 10⁹ instructions: whole timeline and deep zoom, memory against the trace (docs/view.md)
	$(GO) test -run '^$$' -bench 'View$$' -benchtime 1x -timeout 1h ./cmd/hindsight

bench-explore:    ## a run of an exploration against run and races on their own, in processor time (needs the cross compiler)
	$(GO) test -run '^$$' -bench 'Explore$$' -benchtime 3x ./cmd/hindsight

correct:          ## the programs of examples/correct under 20 seeds each: no race may be reported
	HINDSIGHT_LONG=1 HINDSIGHT_CORRECT_SEEDS=20 $(GO) test -run 'TestCorrect$$' -count 1 -timeout 1h ./cmd/hindsight

real:             ## build, run and measure programs from Debian's source packages, and compare with qemu (docs/real-programs.md; hours)
	$(GO) build -o bin/hindsight ./cmd/hindsight
	$(GO) run ./examples/real -hindsight $(CURDIR)/bin/hindsight $(REAL)

same:             ## compare what the revision BASE and this tree print and write for the examples: nothing may differ
	@git rev-parse -q --verify "$(BASE)^{commit}" >/dev/null || { echo "BASE=REVISION names the commit to compare with"; exit 1; }
	rm -rf bin/same
	git worktree add --force bin/same/base.tree "$(BASE)"
	cd bin/same/base.tree && $(GO) build -buildvcs=false -o ../base ./cmd/hindsight
	git worktree remove --force bin/same/base.tree
	$(GO) build -buildvcs=false -o bin/same/tree ./cmd/hindsight
	$(GO) run ./examples/answers -hindsight bin/same/base -o bin/same/base.answers
	$(GO) run ./examples/answers -hindsight bin/same/tree -o bin/same/tree.answers
	diff -r bin/same/base.answers bin/same/tree.answers

faults:           ## test every command that writes a file with every disk fault, at 100 of its operations
	HINDSIGHT_FAULTS=100 $(GO) test -run 'TestFaults$$' -count 1 -timeout 1h ./cmd/hindsight

fuzz:             ## every fuzz target for FUZZTIME each (default 1m)
	sh .ci/fuzz $(FUZZTIME)

fuzz-hour:        ## an hour over all fuzz targets; findings stay as regression seeds
	sh .ci/fuzz total=1h

release:          ## bin/release: static binaries for every platform, manual pages, checksums (VERSION=1.2.3)
	sh .ci/release bin/release $(VERSION)

cross-vet:        ## go vet for every platform of the release
	set -e; for p in $(PLATFORMS); do echo "== $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./...; done

container:        ## images hindsight:bare and hindsight:full (with the cross compilers); needs podman, docker or buildah
	sh .ci/container

slurm:            ## the Slurm job array of docs/exploring.md on this machine (needs Debian's slurm-wlm and munge)
	$(GO) build -o bin/hindsight ./cmd/hindsight
	.ci/slurm bin/hindsight

beam:             ## the Apache Beam pipeline, a module of its own: vet, tests, bin/hindsight-beam (downloads Beam)
	cd cmd/hindsight-beam && $(GO) vet . && $(GO) test . && $(GO) build -o ../../bin/hindsight-beam .

clean:
	rm -rf bin
