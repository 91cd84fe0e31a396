package pipeline

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hs2proxy/hs2proxy/intercept"
	"github.com/hs2proxy/hs2proxy/store"
	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// TestPyHiveThroughThePipeline has PyHive create, fill and join tables over the relay, in front of a real HiveServer2.
func TestPyHiveThroughThePipeline(t *testing.T) {
	address := os.Getenv("HS2PROXY_TEST_HS2")
	if address == "" {
		t.Skip("HS2PROXY_TEST_HS2=host:port of a HiveServer2 4.0.1 (authentication NONE) is not set")
	}
	if err := exec.Command("python3", "-c", "import pyhive.hive").Run(); err != nil {
		t.Skip("python3 has no PyHive")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	queue := intercept.NewQueue(1 << 12)
	relay, err := intercept.NewServer(intercept.Config{Address: address}, intercept.NewTracker(intercept.TrackerConfig{Upstream: "main"}, queue), quiet())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- relay.Serve(ctx, listener) }()

	config := client.Config{Address: address, Auth: "NONE", User: "pipeline", CallTimeout: time.Minute}
	service := NewService(To(config), nil)
	explainer := NewExplainer(ExplainConfig{
		Login: To(config), Timeout: time.Minute, Concurrency: 2, Rate: 100, BreakerFailures: 5, BreakerPause: time.Minute, Witness: true,
	}, quiet())
	var observed []store.Observation
	counters := &Counters{}
	recorder := NewRecorder(RecorderConfig{
		Events: queue.Events(), Cache: newCache(t, time.Now), Samples: newSamples(t), Workers: 2, Log: quiet(),
		Analyzer: &Analyzer{
			Upstream: "main", Explainer: explainer, Server: NewServer(service, time.Hour, time.Now), Tables: NewTables(service, time.Hour, time.Now), Log: quiet(),
		},
		Record: func(r Record) { // always by one goroutine
			if r.Observation != nil && r.Observation.Statement.State.Final() {
				observed = append(observed, *r.Observation)
			}
		},
	}, counters)
	recorder.Start()

	host, port, _ := net.SplitHostPort(listener.Addr().String())
	out, err := exec.CommandContext(ctx, "python3", "testdata/pyhive_writes.py", host, port, os.Getenv("HS2PROXY_TEST_INSERTS")).CombinedOutput()
	if err != nil {
		t.Errorf("PyHive: %v\n%s", err, out)
	}
	if err := relay.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := receive(t, served); err != nil {
		t.Error(err)
	}
	recorder.Stop(ctx)
	explainer.Close()
	service.Close()

	inserts, joins, counted, told := 0, 0, 0, ""
	for _, o := range observed {
		switch {
		case o.Statement.State != intercept.StateFinished:
			t.Errorf("%s: %s %s", o.Statement.SQL, o.Statement.State, o.Statement.ErrorMessage)
		case strings.HasPrefix(o.Statement.SQL, "INSERT"):
			inserts++
			told += "."
			if len(o.Writes) != 1 || o.Writes[0].Table != "h_pipe.t" {
				t.Errorf("%s wrote %+v", o.Statement.SQL, o.Writes)
			} else if o.Writes[0].Rows != nil {
				counted++
				told = told[:len(told)-1] + "x"
				if *o.Writes[0].Rows != 2 {
					t.Errorf("%s: %d rows, want 2", o.Statement.SQL, *o.Writes[0].Rows)
				}
			}
		case strings.HasPrefix(o.Statement.SQL, "SELECT"):
			if o.Analysis == nil || o.Analysis.Error != "" || len(o.Analysis.Joins) != 1 {
				t.Errorf("%s: %+v", o.Statement.SQL, o.Analysis)
			} else {
				joins++
			}
		}
	}
	if inserts == 0 || joins == 0 {
		t.Errorf("%d inserts and %d joins were seen", inserts, joins)
	}
	// The client closes its operation as soon as it can, so no number of counted ones is right.
	t.Logf("the rows of %d of %d synchronous inserts were told in time (%s); %s", counted, inserts, told, out)
}
