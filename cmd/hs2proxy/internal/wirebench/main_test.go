package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// brokenRelay is the variable that makes the relay below end at once.
const brokenRelay = "WIREBENCH_TEST_BROKEN"

// TestMain lets the test binary be the rig's other processes, too: the fake HiveServer2, and hs2proxy, as the relay alone.
func TestMain(m *testing.M) {
	var err error
	switch args := os.Args; {
	case len(args) == 2 && args[1] == fakeCommand:
		err = serveFake(os.Stdin, os.Stdout)
	case len(args) == 6 && slices.Equal([]string{args[1], args[2], args[4]}, []string{"serve", "--listen", "--upstream"}):
		err = relay(args[3], args[5])
	default:
		goleak.VerifyTestMain(m)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func relay(listen, upstream string) error {
	if admin, set := os.LookupEnv("HS2PROXY_ADMIN__LISTEN"); !set || admin != "" || os.Getenv(brokenRelay) != "" {
		return errors.New("the relay does not start")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := intercept.NewServer(intercept.Config{Address: upstream}, intercept.NewTracker(intercept.TrackerConfig{}, intercept.NewQueue(1)), zerolog.New(io.Discard))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.WithoutCancel(ctx), l) }()
	<-ctx.Done()
	return errors.Join(server.Shutdown(context.WithoutCancel(ctx)), <-served)
}
