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

.PHONY: help build demo test race lint e2e e2e-full fuzz bench golden plans fidelity vuln clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

build: ## bin/hs2proxy, static
	$(GO) build -trimpath -buildvcs=auto -ldflags '-s -w' -o bin/hs2proxy ./cmd/hs2proxy

demo: build ## the main job, start to end: Postgres, a real HiveServer2, the proxy, joins, a stale table refreshed, the reports
	./bin/hs2proxy demo

test: ## every test that needs no HiveServer2 (Postgres comes by itself)
	$(GO) vet ./...
	$(GO) test ./...

race: ## the same with the race detector and fewer random inputs, but for pure logic, which starts nothing (needs a C compiler)
	HS2PROXY_SHARED= CGO_ENABLED=1 $(GO) test -race -short $$($(GO) list ./... | grep -vE '/advisor(/|$$)')

lint: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## format and lint
	$< fmt --diff
	$< run ./...

WITHHIVE := $(GO) run ./cmd/hs2proxy/internal/localhive/withhive
E2E := ./cmd/hs2proxy/internal/e2e/... ./cmd/hs2proxy/internal/localhive/... ./cmd/hs2proxy/internal/localzk/... ./cmd/hs2proxy/internal/localkdc/...
e2e: ## the proxy before a real HiveServer2, with six clients, Kerberos and ZooKeeper; the sample; our own connections
	HS2PROXY_E2E=1 $(GO) test -count=1 -p 1 -timeout 40m $(E2E)
	HS2PROXY_REQUIRE_HS2=1 $(WITHHIVE) $(GO) test -count=1 -p 1 -timeout 10m \
	  -run 'Hive(Types|Refusals|ForeignSession)|(Sample|Check)OnHive' ./thrift/client ./cmd/hs2proxy/internal/sample

# HiveGolden compares with a server that reads the metastore by direct SQL; a fresh Derby cannot.
e2e-full: ## the same in every combination of client, transport, login and TLS (an hour), and what follows the advice on a real Hive
	HS2PROXY_E2E=1 HS2PROXY_E2E_FULL=1 $(GO) test -count=1 -p 1 -timeout 120m $(E2E)
	HS2PROXY_REQUIRE_HS2=1 $(WITHHIVE) $(GO) test -count=1 -p 1 -timeout 40m \
	  -run 'Hive' -skip HiveGolden ./thrift/client ./statscheck ./cmd/hs2proxy ./cmd/hs2proxy/internal/sample ./cmd/hs2proxy/internal/pipeline

fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

BENCHFLAGS ?= $(if $(filter %x,$(BENCHTIME)),-once,-duration 500ms)
bench: build ## every benchmark once over, then proxies side by side (docs/benchmarks.md); carries numbers, asserts none
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...
	$(GO) run ./cmd/hs2proxy/internal/wirebench -hs2proxy bin/hs2proxy $(BENCHFLAGS)

GOLDEN := advisor/explain/testdata/golden-hive
golden: ## capture the golden plans anew from a HiveServer2 of ours, and what the parser reads of them; review the diff
	$(WITHHIVE) $(GO) run ./cmd/hs2proxy/internal/plans/capture $(GOLDEN)
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
