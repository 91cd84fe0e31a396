package pipeline

import (
	"testing"
	"time"
)

// TestIdleConnectionsGoBack: connections of ours that nobody uses give HiveServer2 its worker threads back, and the next use makes
// others.
func TestIdleConnectionsGoBack(t *testing.T) {
	h := startHive(t)
	e := h.explainer(t, nil)
	e.line("").pool.rest.limit = 5 * time.Millisecond
	s := NewService(To(h.config()), nil)
	defer s.Close()
	s.idle.limit = 5 * time.Millisecond
	own := h.session()
	for range 2 {
		if _, err := e.Explain(within(t), Target{Session: &own}, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Query(within(t), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "every connection's end", func() bool { return h.connections() == 0 })
	}
}
