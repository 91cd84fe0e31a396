package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

// Refreshes takes requests to refresh statistics. Its errors are ErrBadRequest, ErrNoRefresh, or say why it cannot.
type Refreshes interface {
	Request(ctx context.Context, r RefreshRequest) (id int64, created bool, err error)
	Cancel(ctx context.Context, id int64, by, reason string) (state string, err error)
	Get(ctx context.Context, id int64) (Refresh, error)
	Open(ctx context.Context) ([]Refresh, error)
}

// Errors of Refreshes that have a status of their own.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNoRefresh  = errors.New("no such refresh")
)

// RefreshRequest is the body of POST /refreshes.
type RefreshRequest struct {
	// Table is database.table; Mode NOSCAN, BASIC or COLUMNS, which is what an empty one means.
	Table      string   `json:"table"`
	Mode       string   `json:"mode"`
	Columns    []string `json:"columns"`
	Partitions []string `json:"partitions"`
	// Priority takes the place of the computed one.
	Priority *float64 `json:"priority"`
	Reason   string   `json:"reason"`
	// By is who asks. The token is one for all, so that the name is as good as whoever holds it; the address goes on record with it.
	By string `json:"by"`
}

// RefreshAccepted is the answer to POST /refreshes.
type RefreshAccepted struct {
	ID int64 `json:"id"`
	// Created is false when an open request for the table was there.
	Created bool `json:"created"`
}

// Refresh is a refresh as the port shows it.
type Refresh struct {
	ID          int64      `json:"id"`
	Upstream    string     `json:"upstream"`
	Table       string     `json:"table"`
	Mode        string     `json:"mode"`
	Columns     []string   `json:"columns"`
	Partitions  []string   `json:"partitions"`
	Scope       string     `json:"scope"`
	State       string     `json:"state"`
	Effect      string     `json:"effect,omitempty"`
	Error       string     `json:"error,omitempty"`
	Step        int        `json:"step"`
	Steps       int        `json:"steps"`
	Doing       string     `json:"doing,omitempty"`
	WaitsFor    string     `json:"waits_for,omitempty"`
	Place       int64      `json:"place,omitempty"`
	Attempts    int        `json:"attempts"`
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requested_by"`
	RequestedAt time.Time  `json:"requested_at"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// cancelRequest is the body of POST /refreshes/{id}/cancel; it may be empty.
type cancelRequest struct {
	Reason string `json:"reason"`
	By     string `json:"by"`
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 256 << 10

// refreshes answers /refreshes. Without a database there is nothing to ask.
type refreshes struct {
	do  Refreshes
	log zerolog.Logger
}

func (h *refreshes) register(mux *http.ServeMux) {
	for path, f := range map[string]http.HandlerFunc{
		"GET /refreshes": h.list, "GET /refreshes/{id}": h.get, "POST /refreshes": h.request, "POST /refreshes/{id}/cancel": h.cancel,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if h.do == nil {
				writeError(w, http.StatusServiceUnavailable, "no database is configured (database.url)")
				return
			}
			f(w, r)
		})
	}
}

func (h *refreshes) list(w http.ResponseWriter, r *http.Request) {
	all, err := h.do.Open(r.Context())
	if err != nil {
		h.fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, all)
}

func (h *refreshes) get(w http.ResponseWriter, r *http.Request) {
	id, ok := refreshID(w, r)
	if !ok {
		return
	}
	one, err := h.do.Get(r.Context(), id)
	if err != nil {
		h.fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, one)
}

func (h *refreshes) request(w http.ResponseWriter, r *http.Request) {
	var body RefreshRequest
	if !readBody(w, r, &body) {
		return
	}
	body.By = asker(body.By, r)
	id, created, err := h.do.Request(r.Context(), body)
	if err != nil {
		h.fail(w, err)
		return
	}
	h.log.Info().Int64("refresh", id).Bool("created", created).Str("table", body.Table).Str("asked_by", body.By).Msg("refresh requested")
	writeJSON(w, http.StatusAccepted, RefreshAccepted{ID: id, Created: created})
}

func (h *refreshes) cancel(w http.ResponseWriter, r *http.Request) {
	id, ok := refreshID(w, r)
	if !ok {
		return
	}
	var body cancelRequest
	if !readBody(w, r, &body) {
		return
	}
	by := asker(body.By, r)
	state, err := h.do.Cancel(r.Context(), id, by, body.Reason)
	if err != nil {
		h.fail(w, err)
		return
	}
	h.log.Warn().Int64("refresh", id).Str("state", state).Str("asked_by", by).Msg("refresh canceled by an operator")
	writeJSON(w, http.StatusAccepted, map[string]any{"id": id, "state": state})
}

func (h *refreshes) fail(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, ErrBadRequest):
		status = http.StatusBadRequest
	case errors.Is(err, ErrNoRefresh):
		status = http.StatusNotFound
	default:
		h.log.Warn().Err(err).Msg("a request about refreshes failed")
	}
	writeError(w, status, err.Error())
}

func refreshID(w http.ResponseWriter, r *http.Request) (int64, bool) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		writeError(w, http.StatusNotFound, fmt.Sprintf("no refresh has the number %q", cut(r.PathValue("id"), 40)))
		return 0, false
	}
	return id, true
}

// readBody takes JSON without unknown fields; nothing at all is the zero value.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && (r.ContentLength != 0) {
		writeError(w, http.StatusBadRequest, "the body is not the JSON object expected: "+err.Error())
		return false
	}
	return true
}

// maxName bounds the name of who asks, in bytes.
const maxName = 128

// asker is who asked, for the record: the name given, and the address.
func asker(name string, r *http.Request) string {
	name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, strings.TrimSpace(name))
	if name = cut(name, maxName); name != "" {
		return fmt.Sprintf("%s (admin port, %s)", name, r.RemoteAddr)
	}
	return fmt.Sprintf("admin port, %s", r.RemoteAddr)
}
