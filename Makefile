# hs2proxy. `make demo` shows it at work, `make test` checks it; `make help` lists the rest.
SHELL := /bin/bash
GO    ?= go
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hs2proxy
BIN   := $(CACHE)/bin
GOLANGCI_VERSION    := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
FUZZTIME  ?= 20s
BENCHTIME ?= 1s
export CGO_ENABLED ?= 0

.PHONY: help build demo test plain pure race lint e2e e2e-clients e2e-statistics e2e-sample e2e-situations e2e-full e2e-full-clients e2e-full-statistics e2e-full-advice fuzz bench golden plans fidelity vuln clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

build: ## bin/hs2proxy, static
	$(GO) build -trimpath -buildvcs=auto -ldflags '-s -w' -o bin/hs2proxy ./cmd/hs2proxy

demo: build ## the main job, start to end: Postgres, a real HiveServer2, the proxy, joins, a stale table refreshed, the reports
	./bin/hs2proxy demo

test: $(if $(RACE),pure race,plain) ## every test that needs no HiveServer2 (Postgres comes by itself); RACE=1 with the race detector

plain:
	$(GO) vet ./...
	$(GO) test ./...

# What starts nothing, and so has nothing for the race detector to find.
PURE := /advisor(/|$$)|/intercept/hiveql$$|/cmd/hs2proxy/internal/plans(/|$$)
pure: ## the tests of pure logic alone, over every recorded plan
	$(GO) test $$($(GO) list ./... | grep -E '$(PURE)')

race: ## the other tests, with the race detector and fewer random inputs (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -vet=off $$($(GO) list ./... | grep -vE '$(PURE)')

lint: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## format and lint
	$< fmt --diff
	$< run ./...

WITHHIVE := $(GO) run ./cmd/hs2proxy/internal/localhive/withhive
E2E := ./cmd/hs2proxy/internal/e2e/... ./cmd/hs2proxy/internal/localhive/... ./cmd/hs2proxy/internal/localzk/... ./cmd/hs2proxy/internal/localkdc/...
# Three of the parts side by side, each with HiveServer2s of its own, which wait for almost half of their time.
e2e: ## the proxy before a real HiveServer2, with six clients, Kerberos and ZooKeeper; the sample; our own connections
	$(MAKE) --no-print-directory -j 3 -O e2e-clients e2e-statistics e2e-sample e2e-situations

CLIENTS := ^Test(RealClients|Kerberos|OwnConnections)
e2e-clients:
	HS2PROXY_E2E=1 $(GO) test -count=1 -timeout 40m -run '$(CLIENTS)' ./cmd/hs2proxy/internal/e2e

SITUATIONS := ^TestStagedSituations
e2e-statistics:
	HS2PROXY_E2E=1 $(GO) test -count=1 -timeout 40m -skip '$(CLIENTS)|$(SITUATIONS)' ./cmd/hs2proxy/internal/e2e

e2e-situations:
	HS2PROXY_E2E=1 $(GO) test -count=1 -timeout 40m -run '$(SITUATIONS)' ./cmd/hs2proxy/internal/e2e

e2e-sample:
	HS2PROXY_REQUIRE_HS2=1 $(WITHHIVE) $(GO) test -count=1 -p 1 -timeout 20m \
	  -run 'Hive(Types|Refusals|ForeignSession)|(Sample|Check)OnHive' ./thrift/client ./cmd/hs2proxy/internal/sample
	HS2PROXY_E2E=1 $(GO) test -count=1 -timeout 10m -run HiveServer2 ./cmd/hs2proxy/internal/localzk

# HiveGolden compares with a server that reads the metastore by direct SQL; a fresh Derby cannot.
e2e-full: e2e-full-clients e2e-full-statistics e2e-full-advice ## the same in every combination of client, transport, login and TLS (an hour), and what follows the advice on a real Hive 4, 3 and 2

e2e-full-clients:
	HS2PROXY_E2E=1 HS2PROXY_E2E_FULL=1 $(GO) test -count=1 -timeout 180m -run '$(CLIENTS)' ./cmd/hs2proxy/internal/e2e

e2e-full-statistics:
	HS2PROXY_E2E=1 HS2PROXY_E2E_FULL=1 $(GO) test -count=1 -p 1 -timeout 120m -skip '$(CLIENTS)' $(E2E)

e2e-full-advice:
	HS2PROXY_REQUIRE_HS2=1 $(WITHHIVE) -hive 4.0,3.1,2.3 $(GO) test -count=1 -p 1 -timeout 180m \
	  -run 'Hive' -skip HiveGolden ./thrift/client ./statscheck ./cmd/hs2proxy ./cmd/hs2proxy/internal/sample ./cmd/hs2proxy/internal/pipeline

# Where inputs that reached something new are kept; a new folder begins with the seeds alone.
FUZZCACHE = $(shell $(GO) env GOCACHE)/fuzz
fuzz: ## every fuzz target for FUZZTIME each; the targets of a package share one program
	@set -euo pipefail; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	$(GO) list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r pkg folder; do \
	  grep -qs '^func Fuzz' "$$folder"/*_test.go || continue; \
	  $(GO) test -c -fuzz=. -o "$$dir/fuzz" "$$pkg"; cd "$$folder"; \
	  targets=$$("$$dir/fuzz" -test.list '^Fuzz' | grep '^Fuzz'); \
	  for f in $$targets; do \
	    echo "fuzz $$pkg $$f"; \
	    "$$dir/fuzz" -test.run '^$$' -test.fuzz "^$$f$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 10x \
	      -test.fuzzcachedir "$(FUZZCACHE)/$$pkg" </dev/null; \
	  done; \
	done

BENCHFLAGS ?= $(if $(filter %x,$(BENCHTIME)),-once,-duration 500ms)
BENCHSHORT := $(if $(filter 1x,$(BENCHTIME)),-short)
bench: build ## every benchmark once over, then proxies side by side (docs/benchmarks.md); carries numbers, asserts none
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(BENCHSHORT) ./...
	$(GO) run ./cmd/hs2proxy/internal/wirebench -hs2proxy bin/hs2proxy $(BENCHFLAGS)

GOLDEN := advisor/explain/testdata/golden-hive
golden: ## capture the golden plans anew from a HiveServer2 of ours (JARS=DIR: Iceberg's too), and what the parser reads of them; review the diff
	$(WITHHIVE) -transactions $(if $(JARS),-jars '$(abspath $(JARS))') $(GO) run ./cmd/hs2proxy/internal/plans/capture $(GOLDEN)
	$(GO) test ./advisor -update

plans: ## FILE=PLANS.jsonl.gz: reads each plan of such a file, compares its joins with the join operators of its text
	@$(GO) run ./cmd/hs2proxy/internal/plans '$(FILE)'

fidelity: ## CASES=FILE.jsonl.gz: compares the simulated selection with decisions of a real planner, and lists the differences
	@$(GO) run ./cmd/hs2proxy/internal/fidelity '$(CASES)'

vuln: $(BIN)/govulncheck-$(GOVULNCHECK_VERSION) ## known vulnerabilities in what we depend on (asks the Go vulnerability database)
	$< ./...

clean: ## what the build made here; caches stay
	rm -rf bin dist

$(BIN)/golangci-lint-$(GOLANGCI_VERSION):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once (some minutes)"
	GOBIN=$(BIN)/tmp CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/tmp/golangci-lint $@

$(BIN)/govulncheck-$(GOVULNCHECK_VERSION):
	GOBIN=$(BIN)/tmp CGO_ENABLED=0 $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv $(BIN)/tmp/govulncheck $@
