# Coracle. `make` lists the targets.

GO ?= go
# How all tests are compiled, and the programs that they build, so that modules share what they have
# in common: without debug information, which no test reads, by tools that collect garbage less
# often, and without inlining where tests run little of much code. From an empty cache that
# saves a quarter of the work.
PLAIN = k8s.io/... sigs.k8s.io/... github.com/goccy/go-json/... github.com/google/gnostic-models/... github.com/grpc-ecosystem/... \
	github.com/prometheus/procfs/... go.etcd.io/etcd/api/v3/etcdserverpb/gw go.opentelemetry.io/otel/semconv/... \
	go.opentelemetry.io/proto/... google.golang.org/genproto/... \
	github.com/coracle-project/coracle/server/... github.com/coracle-project/coracle/cmd/...
vet common unit race interop robust: export GOFLAGS += -vet=off -gcflags=all=-dwarf=false $(foreach p,$(PLAIN),'-gcflags=$p=-dwarf=false -l') \
	'-ldflags=-s -w' '-toolexec=env GOMEMLIMIT=off GOGC=1000'
# Without the race detector nothing needs a C compiler.
vet common unit interop robust: export CGO_ENABLED = 0
# The tests of the main module collect garbage less often, too, which saves a fifth of the work of those that start servers. The limit
# bounds the memory of a test program. The tests of other modules start servers of their own, which tune their memory themselves.
unit: export GOGC = 400
unit: export GOMEMLIMIT = 1GiB
# Linters run from their modules, at fixed versions; nothing is installed.
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GREMLINS    = $(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0

# The race detector has the packages in which goroutines are begun, by themselves or by their tests. In the others it would find nothing.
RACED = $(addprefix ./,$(sort $(dir $(shell grep -rlE '^\s*go [a-z]|\.Go.func|httptest\.New.*Server|servertest\.(Start|New|Environment)' \
	--include='*.go' cmd filters registry router scheme server storage))))
# Tests in files with the build tag !race do something very often, with very much or on every engine. The race detector has seen it in
# other tests already, and takes ten times as long: only `make unit` runs them.

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/coracle and bin/wardle
	$(GO) build -trimpath -ldflags '-s -w' -o bin/ ./cmd/...

.PHONY: run
run: ## run the server
	$(GO) run ./cmd/coracle serve

# What all tests need is compiled first: go commands that run at the same time would each compile it. Then two targets run at a time,
# because many tests wait more than they work: while they wait, others are compiled. Three at a time starve tests that measure.
.PHONY: test
test: common ## every test of the server and its clients, without the race detector: no C compiler is needed
	@$(MAKE) --no-print-directory -j2 unit interop robust

.PHONY: common
common:
	$(GO) build ./server/... ./cmd/flags

.PHONY: vet
vet: ## formatting and go vet
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'gofmt would change the files above'; exit 1; }
	$(GO) vet ./...

.PHONY: unit
unit: ## tests of the main module, several packages and tests at a time
	$(GO) test -p 3 -parallel 4 ./...

# Without GORACE each test program sleeps for a second before it exits, in case that goroutines which outlive the tests find a race
# meanwhile.
.PHONY: race
race: vet ## formatting, go vet, and tests of the packages that begin goroutines, with the race detector, which needs a C compiler
	GORACE=atexit_sleep_ms=0 $(GO) test -race $(RACED)

# The time of tests is also that of building the programs which they start.
.PHONY: interop
interop: ## real kubectl and client-go against the server, the load tool (modules of their own)
	cd test/interop && $(GO) test -count=1 -parallel 4 -timeout 20m .
	cd test/load && $(GO) test ./...

.PHONY: envtest-suites
envtest-suites: ## controller-runtime's own test suites on our programs, or on those in ASSETS; SUITES are packages, such as ./pkg/client (a module of its own)
	cd test/envtest && $(GO) test -count=1 -timeout 0 -v

.PHONY: robust
robust: ## hostile requests; kill servers under load and check what everybody saw, for DURATION (default 10s) with SEED (modules of their own)
	cd test/hostile && $(GO) test -count=1 ./...
	cd test/robust && $(GO) test -count=1 -parallel 8 -timeout 0

.PHONY: soak
soak: ## what the tests prove of few, proved of many on servers that are killed, with SEED: 2,000 random graphs of owners, 40 rounds of 2,000 more objects, 20,000 services, 50 budgets, 10 rounds of quotas, 3,000 definitions, 5 minutes of definitions at random, 5 of kills under load, 5 of webhooks and policies that come and go; then `differential` with a new seed, which it prints, and 20,000 steps of sessions
	CHURN=5m $(GO) test -race -count=1 -timeout 0 -run DefinitionsAtRandom ./server/definitions
	GRAPHS=2000 $(GO) test -count=1 -timeout 0 -run RandomGraphs ./server/loops/ownership
	cd test/robust && SOAK=1 DURATION=$(or $(DURATION),5m) $(GO) test -count=1 -timeout 0 -run 'TestRobust|TestServices|TestEvictions|TestQuotas|TestDefinitions|TestHooks|TestGarbage'
	cd test/differential && $(GO) test -count=1 -timeout 0
	cd test/differential && COUNT=$(or $(COUNT),10) $(GO) test -count=1 -timeout 0 -run 'TestSessions|TestTendedSessions'

.PHONY: differential
differential: ## judge codec, defaults and writes of every kind by Kubernetes' code, with SEED and COUNT (a factor, default 1; a module of its own)
	cd test/differential && $(GO) test -count=1 -timeout 30m

# Flags as for differential, so that both share what they compile of Kubernetes. The tests take less than 10 minutes; the rest is for
# building the programs of two releases and kueue, from empty caches on two cores.
.PHONY: cluster
cluster: ## programs of Kubernetes beside ours (modules of their own): take over, share (under load for DURATION, default 60s) and give back etcds that real kube-apiservers have filled, and run kueue with its webhooks, RUN chooses tests; sample-apiserver behind a server; controllers made with controller-runtime, suites on its envtest, and its own tests of envtest
	cd test/cluster && $(GO) test -count=1 -timeout 45m -v -run '$(RUN)'
	cd test/interop && $(GO) test -count=1 -timeout 10m -tags cluster \
		-run '^Test(Aggregation|ProxyClientCertificate|Manager|ControllersYield|LeaderElection|CustomManager|Suite|Suites|Envtest.*)$$'
	cd test/envtest && SUITES=./pkg/envtest $(GO) test -count=1 -timeout 0

.PHONY: load
load: ## build the load tool, bin/load; test/load/README.md says how to use it
	cd test/load && $(GO) build -o ../../bin/load .

.PHONY: lint
lint: ## staticcheck
	$(STATICCHECK) ./...

.PHONY: mutants
mutants: ## change PACKAGE (such as ./filters) in many small ways, and name the changes that its own tests do not notice
	$(GREMLINS) unleash --workers 2 --timeout-coefficient 10 --output-statuses lc $(PACKAGE)

.PHONY: bench
bench: ## Go benchmarks of the hot paths
	$(GO) test -run '^$$' -bench . -benchmem ./filters/... ./router/... ./registry/... ./storage/cache ./storage/embedded ./scheme/... ./server

.PHONY: bench-chain
bench-chain: ## our filter chain beside kube-apiserver's: users, roles, impersonation; decisions by roles, first uses of tokens (a module of its own)
	cd test/differential && $(GO) test -run TestChains -bench 'Chain|ByRoles|FirstUse' -benchmem .

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 30s each)
	@./test/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: hostile
hostile: ## what strangers send, beside a bare net/http server; the most expensive requests, beside a bystander
	$(GO) build -o bin/coracle ./cmd/coracle
	cd test/hostile && $(GO) build -o ../../bin/hostile .
	bin/hostile -server bin/coracle
	bin/hostile -server bin/coracle -expensive
	bin/hostile -server bin/coracle -served -rounds 25 -d 60ms -max 1.25
	bin/hostile -server bin/coracle -connections -d 5s

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
