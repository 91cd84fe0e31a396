package e2e

import (
	"os"
	"testing"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
