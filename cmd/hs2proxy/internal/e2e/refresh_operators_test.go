package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hs2proxy/hs2proxy/store/storetest"
)

// command runs a subcommand of hs2proxy as an operator does, with the settings of a proxy.
func command(t *testing.T, program string, settings map[string]string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = os.Environ()
	for key, value := range settings {
		cmd.Env = append(cmd.Env, "HS2PROXY_"+key+"="+value)
	}
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("hs2proxy %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), words.String(), cmd.ProcessState.ExitCode()
}

// Operators ask by the command line and by the admin port, see what runs, and end it; Hive runs what was asked for, and no more.
func operatorsAsk(t *testing.T, r rig) {
	dsn := storetest.DSN(t)
	db := connect(t, dsn)
	settings := r.settings(dsn)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret-of-operators\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings["ADMIN__TOKEN_FILE"] = token
	settings["STATISTICS__REFRESH__SCHEDULES"] = `[{name: nightly, cron: "30 2 1 1 *"}]` // never while this runs
	settings["ADMIN__LISTEN"] = "127.0.0.1:0"
	proxy := serve(t, r.program, settings)
	client := session(t, proxy.address(t))
	runAll(t, client, "CREATE DATABASE e2e_asked", "USE e2e_asked", "SET hive.stats.autogather=false",
		"CREATE TABLE asked (id int)", "INSERT INTO asked VALUES (1), (2), (3)")
	slowTable(t, client, "slow", 20_000)
	analyzes := func(table string) []execution { return executions(t, r.log, "ANALYZE TABLE `e2e_asked`.`"+table+"`") }
	stale := func(table string) (n int) {
		row(t, db, []any{&n}, "SELECT count(*) FROM hs2proxy.report_stale_tables WHERE table_name = $1", "e2e_asked."+table)
		return n
	}
	eventually(t, "what was written to be found", func(context.Context) bool { return stale("asked") > 0 })

	t.Run("dry-run", func(t *testing.T) {
		out, words, status := command(t, r.program, settings, "refresh", "e2e_asked.asked", "--basic", "--dry-run")
		if status != 0 || !strings.Contains(out, "ANALYZE TABLE `e2e_asked`.`asked` COMPUTE STATISTICS") || !strings.Contains(out, "schedule nightly") {
			t.Errorf("status %d:\n%s%s", status, out, words)
		}
		var requests int
		row(t, db, []any{&requests}, "SELECT count(*) FROM hs2proxy.refreshes")
		if requests > 0 || len(analyzes("asked")) > 0 {
			t.Errorf("%d requests, ANALYZEs %+v", requests, analyzes("asked"))
		}
	})
	t.Run("wait", func(t *testing.T) {
		out, words, status := command(t, r.program, settings, "refresh", "e2e_asked.asked", "--basic", "--wait", "--reason", "loaded by hand")
		if status != 0 || !strings.Contains(out, "EFFECTIVE") || !strings.Contains(out, "-> 3\n") || !strings.Contains(words, "refresh 1: ") {
			t.Errorf("status %d:\n%s%s", status, out, words)
		}
		var by, reason string
		row(t, db, []any{&by, &reason}, "SELECT requested_by, reason FROM hs2proxy.report_refreshes WHERE id = 1")
		if by == "" || reason != "loaded by hand" {
			t.Errorf("asked for by %q: %q", by, reason)
		}
		eventually(t, "the table to be clear", func(context.Context) bool { return stale("asked") == 0 })
	})
	t.Run("cancel", func(t *testing.T) {
		var waiting sync.WaitGroup
		var out, words string
		var status int
		waiting.Go(func() {
			out, words, status = command(t, r.program, settings, "refresh", "e2e_asked.slow", "--basic", "--wait")
		})
		eventually(t, "ANALYZE on Tez", func(context.Context) bool {
			all := analyzes("slow")
			return len(all) > 0 && all[0].tez
		})
		said, complaint, canceled := command(t, r.program, settings, "refresh", "--cancel", "2", "--reason", "month end")
		waiting.Wait()
		if canceled != 0 || !strings.Contains(said, "its proxy cancels it in Hive") {
			t.Errorf("--cancel: status %d:\n%s%s", canceled, said, complaint)
		}
		if status != 1 || !strings.Contains(words, "month end (canceled in Hive)") || !strings.Contains(words, "ANALYZE TABLE") {
			t.Errorf("--wait: status %d:\n%s%s", status, out, words)
		}
		eventually(t, "the cancellation in Hive", func(context.Context) bool { return analyzes("slow")[0].over() })
		if all := analyzes("slow"); len(all) != 1 || all[0].finished || !all[0].interrupted || !all[0].killed {
			t.Errorf("ANALYZEs in Hive: %+v", all)
		}
	})
	t.Run("admin port", func(t *testing.T) { asksAdminPort(t, "http://"+proxy.adminAddress(t)+"/refreshes", "e2e_asked.asked") })
}

// asksAdminPort files a refresh and follows it to its end.
func asksAdminPort(t *testing.T, url, table string) {
	ask := func(method, url, token, body string) (status int, answer map[string]any) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer
	}
	request := fmt.Sprintf(`{"table": %q, "mode": "BASIC", "reason": "loaded", "by": "ann"}`, table)
	for _, token := range []string{"", "wrong"} {
		if status, answer := ask(http.MethodPost, url, token, request); status != http.StatusUnauthorized {
			t.Fatalf("with token %q: status %d, %v", token, status, answer)
		}
	}
	status, accepted := ask(http.MethodPost, url, "s3cret-of-operators", request)
	if status != http.StatusAccepted || accepted["created"] != true {
		t.Fatalf("status %d, %v", status, accepted)
	}
	one := fmt.Sprintf("%s/%v", url, accepted["id"])
	var got map[string]any
	eventually(t, "the refresh's end", func(context.Context) bool {
		if status, got = ask(http.MethodGet, one, "s3cret-of-operators", ""); status != http.StatusOK {
			t.Fatalf("status %d, %v", status, got)
		}
		return got["state"] != "REQUESTED" && got["state"] != "RUNNING"
	})
	if by, _ := got["requested_by"].(string); got["state"] != "DONE" || got["effect"] != "NO_CHANGE" || !asker.MatchString(by) {
		t.Errorf("ended as %v", got)
	}
	if status, answer := ask(http.MethodPost, one+"/cancel", "s3cret-of-operators", `{"reason": "too late"}`); status != http.StatusNotFound || !strings.Contains(fmt.Sprint(answer), "is DONE already") {
		t.Errorf("canceled after its end: status %d, %v", status, answer)
	}
}

var asker = regexp.MustCompile(`^ann \(admin port, 127\.0\.0\.1:\d+\)$`)
