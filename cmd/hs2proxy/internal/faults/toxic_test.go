package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// toxic is a fault as Toxiproxy knows it.
type toxic struct {
	name       string
	kind       string // of Toxiproxy's; empty: the address refuses connections
	attributes string
}

// toxics are the faults of a side. All but the first three end or swallow what is under way.
func toxics() []toxic {
	return []toxic{
		{"latency", "latency", `{"latency": 20, "jitter": 10}`},
		{"bandwidth", "bandwidth", `{"rate": 20}`}, // KB/s
		{"slicer", "slicer", `{"average_size": 5, "size_variation": 4, "delay": 10}`},
		{"slow close", "slow_close", `{"delay": 200}`},
		{"reset", "reset_peer", `{"timeout": 0}`},
		{"late reset", "reset_peer", `{"timeout": 100}`},
		{"cut", "limit_data", `{"bytes": 300}`},
		{"black hole", "timeout", `{"timeout": 0}`},
		{"down", "", ""},
	}
}

// gentle faults only slow things down.
func (x toxic) gentle() bool {
	return x.kind == "latency" || x.kind == "bandwidth" || x.kind == "slicer" || x.kind == "slow_close"
}

// side is a Toxiproxy in front of an address.
type side struct{ proxy *toxiproxy.Proxy }

func newSide(t *testing.T, name, upstream string) side {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	s := side{toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)}
	if err := s.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.proxy.Stop)
	return s
}

func (s side) addr() string { return s.proxy.Listen }

// poison begins a fault in both directions, for what is under way too.
func (s side) poison(t *testing.T, x toxic) {
	t.Helper()
	if x.kind == "" {
		s.proxy.Stop()
		return
	}
	for _, stream := range []string{"upstream", "downstream"} {
		text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": %s}`, stream, x.kind, stream, x.attributes)
		if _, err := s.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// cure ends it.
func (s side) cure(t *testing.T, x toxic) {
	t.Helper()
	if x.kind == "" {
		if err := s.proxy.Start(); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, stream := range []string{"upstream", "downstream"} {
		if err := s.proxy.Toxics.RemoveToxic(context.Background(), stream); err != nil {
			t.Fatal(err)
		}
	}
}

// cut ends what is under way.
func (s side) cut(t *testing.T) {
	t.Helper()
	s.proxy.Stop()
	if err := s.proxy.Start(); err != nil {
		t.Fatal(err)
	}
}
