package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// fakeRefreshes notes what was asked.
type fakeRefreshes struct{ asked []string }

func (f *fakeRefreshes) Request(_ context.Context, r RefreshRequest) (int64, bool, error) {
	if r.Table != "sales.orders" {
		return 0, false, fmt.Errorf("%w: not the name of a table", ErrBadRequest)
	}
	f.asked = append(f.asked, fmt.Sprintf("%s %s %v %v %g %s by %s", r.Table, r.Mode, r.Columns, r.Partitions, *r.Priority, r.Reason, r.By))
	return 7, true, nil
}

func (f *fakeRefreshes) Cancel(_ context.Context, id int64, by, reason string) (string, error) {
	if id != 7 {
		return "", ErrNoRefresh
	}
	f.asked = append(f.asked, by+": "+reason)
	return "RUNNING", nil
}

func (f *fakeRefreshes) Get(_ context.Context, id int64) (Refresh, error) {
	if id != 7 {
		return Refresh{}, ErrNoRefresh
	}
	return Refresh{ID: 7, Table: "sales.orders", State: "RUNNING", Step: 2, Steps: 3}, nil
}

func (f *fakeRefreshes) Open(ctx context.Context) ([]Refresh, error) {
	one, err := f.Get(ctx, 7)
	return []Refresh{one}, err
}

const testToken = "a-token-of-sixteen-or-more"

// post asks with the token, unless change takes it away.
func post(h http.Handler, method, path, body, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRefreshRequests(t *testing.T) {
	source := sourceOf(newFake())
	do := &fakeRefreshes{}
	source.Refreshes = do
	h := handler(testToken, source, watched(), zerolog.Nop())
	const body = `{"table": "sales.orders", "mode": "BASIC", "columns": ["id"], "partitions": ["ds=1"], "priority": 3, "reason": "loaded", "by": "ann\u0007 "}`
	for _, c := range []struct {
		method, path, body, token string
		status                    int
		want                      string
	}{
		{"POST", "/refreshes", body, testToken, http.StatusAccepted, `"id": 7`},
		{"POST", "/refreshes", body, "", http.StatusUnauthorized, "admin.token_file"},
		{"POST", "/refreshes", body, "another-token-of-sixteen", http.StatusUnauthorized, "admin.token_file"},
		{"POST", "/refreshes", `{"table": "x", "priority": 1}`, testToken, http.StatusBadRequest, "not the name of a table"},
		{"POST", "/refreshes", `{"tabel": "x"}`, testToken, http.StatusBadRequest, "tabel"},
		{"POST", "/refreshes", `nothing`, testToken, http.StatusBadRequest, "JSON"},
		{"POST", "/refreshes", `{"reason": "` + strings.Repeat("x", maxBody) + `"}`, testToken, http.StatusBadRequest, "too large"},
		{"GET", "/refreshes", "", testToken, http.StatusOK, `"steps": 3`},
		{"GET", "/refreshes", "", "", http.StatusUnauthorized, ""},
		{"GET", "/refreshes/7", "", testToken, http.StatusOK, `"state": "RUNNING"`},
		{"GET", "/refreshes/8", "", testToken, http.StatusNotFound, "no such refresh"},
		{"GET", "/refreshes/x", "", testToken, http.StatusNotFound, "no refresh has the number"},
		{"POST", "/refreshes/7/cancel", `{"reason": "month end", "by": "bo"}`, testToken, http.StatusAccepted, `"state": "RUNNING"`},
		{"POST", "/refreshes/7/cancel", "", testToken, http.StatusAccepted, `"RUNNING"`},
		{"POST", "/refreshes/7/cancel", "", "", http.StatusUnauthorized, ""},
		{"POST", "/refreshes/8/cancel", "", testToken, http.StatusNotFound, "no such refresh"},
		{"PUT", "/refreshes", body, testToken, http.StatusMethodNotAllowed, ""},
	} {
		w := post(h, c.method, c.path, c.body, c.token)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %.40s: %d %s, want %d %s", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	want := []string{
		"sales.orders BASIC [id] [ds=1] 3 loaded by ann (admin port, 192.0.2.1:1234)", "bo (admin port, 192.0.2.1:1234): month end", "admin port, 192.0.2.1:1234: ",
	}
	if got, _ := json.Marshal(do.asked); string(got) != string(mustJSON(want)) {
		t.Errorf("asked %s", got)
	}
	source.Refreshes = nil
	if w := post(handler(testToken, source, watched(), zerolog.Nop()), "POST", "/refreshes", body, testToken); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "database.url") {
		t.Errorf("without a database: %d %s", w.Code, w.Body)
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
