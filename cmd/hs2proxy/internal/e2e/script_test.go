package e2e

import (
	"os"
	"strings"
	"testing"
)

func TestScriptTravelsAsLines(t *testing.T) {
	for _, p := range programs {
		for _, brief := range []bool{true, false} {
			steps := Target{Database: "d", Brief: brief}.script(p.name)
			text, err := encode(steps)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) != len(steps) {
				t.Fatalf("%s: %d lines for %d steps", p.name, len(lines), len(steps))
			}
			names := map[string]bool{}
			for i, line := range lines {
				fields := strings.Split(line, "\t")
				if len(fields) != 3 || fields[0] != string(steps[i].kind) || fields[1] != steps[i].name || fields[2] != steps[i].sql {
					t.Errorf("%s: line %d does not hold its step: %.80q", p.name, i, line)
				}
				if names[steps[i].name] {
					t.Errorf("%s: two steps are named %q", p.name, steps[i].name)
				}
				names[steps[i].name] = true
			}
		}
	}
	if _, err := encode([]step{{query, "x", "SELECT\n1"}}); err == nil {
		t.Error("a line end inside a statement is accepted")
	}
}

func TestClientsKnowTheirSteps(t *testing.T) {
	goHiveClient, err := os.ReadFile("clients/gohive/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[client]struct {
		text []byte
		mark string
	}{
		pyHive:     {pyHiveClient, "def %("},
		impyla:     {impylaClient, "def %("},
		hiveDriver: {hiveDriverClient, "%"},
		goHive:     {goHiveClient, `"%"`},
		jdbc:       {jdbcClient, `case "%":`},
	} {
		for _, s := range append(Target{Database: "d"}.script(name), Target{Database: "d", Brief: true}.script(name)...) {
			if mark := strings.ReplaceAll(source.mark, "%", string(s.kind)); !strings.Contains(string(source.text), mark) {
				t.Errorf("%s does not know steps of kind %s", name, s.kind)
			}
		}
	}
}

func TestBeelinesFile(t *testing.T) {
	text := beelineFile(Target{Database: "d"})
	for _, want := range []string{"CREATE DATABASE d;\n", "!tables\n", "SELEKT 1;\n", "USE default;\nDROP DATABASE d CASCADE;\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in Beeline's file", want)
		}
	}
	if strings.Contains(text, ";;") || strings.Contains(text, "a; b") {
		t.Error("Beeline is given what it would cut in two")
	}
}

func TestBeelinesTextWithoutIDs(t *testing.T) {
	text := "INFO  : Query ID = root_20261130230848_bdf7f411-d528-4e4a-984a-5b24270f278b\n" +
		"INFO  : 2026-11-30 23:09:47,981\tMap 1: -/-\n\tat x.Y(Y.java:1)\n\t... 19 more\n" +
		"\nInterrupting... Please be patient this may take some time.\nINFO  : Status: Killed\nError: Query was cancelled.\n" +
		"4 rows affected (3.333 seconds)\nvertexId=vertex_1796080178625_0001_2_00 [Map 1]\n"
	want := "INFO  : Query ID = QUERY_ID\n\nInterrupting\nError: Query was cancelled.\n4 rows affected (N seconds)\nvertexId=vertex_ID [Map 1]\n"
	if got := withoutIDs(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTargetRefusesWhatCannotWork(t *testing.T) {
	for want, target := range map[string]Target{
		"missing port":                   {Address: "nowhere"},
		"invalid syntax":                 {Address: "h:thrift"},
		"must be NONE, NOSASL or CUSTOM": {Address: "h:1", Auth: "KERBEROS"},
		"lower-case letters, digits":     {Address: "h:1", Database: "x; DROP DATABASE y"},
	} {
		if _, err := target.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", target, err, want)
		}
	}
	got, err := Target{Address: "h:1"}.withDefaults()
	if err != nil || got.Auth != "NONE" || got.User == "" || got.Password == "" || got.Database == "" {
		t.Errorf("defaults %+v, %v", got, err)
	}
}

func TestTargetsURL(t *testing.T) {
	got := Target{Address: "h:1", Auth: "NOSASL", HTTP: true, TLS: &Trust{CAFile: "/ca.pem", TrustStore: "/ts"}}.url()
	want := "jdbc:hive2://h:1/default;auth=noSasl;transportMode=http;httpPath=cliservice;ssl=true;sslTrustStore=/ts;trustStorePassword=changeit"
	if got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
}
