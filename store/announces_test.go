package store_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hs2proxy/hs2proxy/store"
)

// pooler passes a connection to Postgres on and keeps notices to itself, as one does that gives each transaction another connection.
func pooler(t *testing.T, server string) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { pass(t, client, server) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
	})
	return l.Addr()
}

func pass(t *testing.T, client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	behind, err := net.Dial("tcp", server)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = behind.Close() }()
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() {
		_, _ = io.Copy(behind, client)
		_ = behind.Close()
	})
	defer func() { _ = client.Close() }()
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(behind, header); err != nil {
			return
		}
		body := make([]byte, int(header[1])<<24|int(header[2])<<16|int(header[3])<<8|int(header[4])-4)
		if _, err := io.ReadFull(behind, body); err != nil {
			return
		}
		if header[0] == 'A' { // NotificationResponse
			continue
		}
		if _, err := client.Write(append(append([]byte(nil), header...), body...)); err != nil {
			return
		}
	}
}

func TestWhetherNoticesArrive(t *testing.T) {
	f := newFixture(t, store.Options{})
	if told, err := f.Announces(t.Context()); err != nil || !told {
		t.Errorf("straight to Postgres: %t, %v", told, err)
	}
	cfg, err := pgx.ParseConfig(f.dsn)
	f.ok(err)
	through := pooler(t, net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)))
	addr := through.(*net.TCPAddr)
	cfg.Host, cfg.Port = addr.IP.String(), uint16(addr.Port)
	f.dsn = dsnAs(cfg, cfg.User, cfg.Password)
	if told, err := f.open(store.Options{}).Announces(t.Context()); err != nil || told {
		t.Errorf("through a pooler: %t, %v", told, err)
	}
}
