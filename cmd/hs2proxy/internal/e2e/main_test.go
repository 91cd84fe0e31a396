package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func TestMain(m *testing.M) {
	status := storetest.Main(m)
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	os.Exit(status)
}
