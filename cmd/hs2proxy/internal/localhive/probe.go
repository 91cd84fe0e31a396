package localhive

import (
	"context"
	"fmt"
	"time"

	"github.com/hs2proxy/hs2proxy/thrift/client"
)

// probe opens and closes a session. A server that accepts connections but no sessions yet is given some time, and
// then asked again.
func probe(ctx context.Context, address string, auth Auth) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	session, err := client.Open(ctx, client.Config{
		Address: address, Auth: string(auth), User: "hs2proxy", Password: "hs2proxy",
		DialTimeout: 2 * time.Second, CallTimeout: 30 * time.Second,
	}, nil)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("close the session: %w", err)
	}
	return nil
}
