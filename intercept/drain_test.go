package intercept

import (
	"io"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept/hs2test"
)

// TestDrainEndsIdle: a drain ends the connections that nobody uses, and waits for one whose statement runs on in HiveServer2 while
// its client asks nothing.
func TestDrainEndsIdle(t *testing.T) {
	r := newRig(t, hs2test.Config{Execute: blockSlow}, Config{DrainIdle: 20 * time.Millisecond})
	idle, busy := r.dial(), r.dial()
	if _, err := idle.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	session, err := busy.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	running, err := busy.Execute(t.Context(), session, "slow", true)
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan error, 1)
	go func() { drained <- r.server.Shutdown(t.Context()) }()
	if b, err := io.ReadAll(idle.Conn); len(b) > 0 || err != nil && !isReset(err) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	eventually(t, "the idle connection's end", func() bool { return r.server.Stats().Open == 1 })
	select {
	case err := <-drained:
		t.Fatalf("drained with a statement running: %v", err)
	default:
	}
	r.hive.Release()
	eventually(t, "the statement's end", func() bool {
		status, err := busy.Poll(t.Context(), running.OperationHandle)
		return err != nil || status.OperationState.String() == "FINISHED_STATE"
	})
	if err := <-drained; err != nil {
		t.Error(err)
	}
}
