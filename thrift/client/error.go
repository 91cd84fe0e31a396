package client

import (
	"fmt"

	"github.com/beltran/gohive"
	"github.com/beltran/gohive/hiveserver"
)

// Error is a refusal by HiveServer2 itself: the call arrived and was answered with an error. Any other error of this
// package means that the answer is not known.
type Error struct {
	// Code is Hive's error code (ErrorMsg), 0 when it sent none.
	Code int32
	// SQLState is five characters, or empty where it is not known.
	SQLState string
	// Message is Hive's own text, without the stack.
	Message string
}

func (e *Error) Error() string {
	if e.SQLState == "" && e.Code == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (code %d, SQL state %q)", e.Message, e.Code, e.SQLState)
}

// statusError is nil for the two kinds of success.
func statusError(s *hiveserver.TStatus) error {
	if s == nil {
		return &Error{Message: "a reply without a status"}
	}
	if s.StatusCode == hiveserver.TStatusCode_SUCCESS_STATUS || s.StatusCode == hiveserver.TStatusCode_SUCCESS_WITH_INFO_STATUS {
		return nil
	}
	e := &Error{Code: s.GetErrorCode(), SQLState: s.GetSqlState(), Message: s.GetErrorMessage()}
	if e.Message == "" {
		e.Message = s.StatusCode.String()
	}
	return e
}

// stateError is the error of an operation that ended in any state but FINISHED.
func stateError(r *hiveserver.TGetOperationStatusResp) error {
	e := &Error{Code: r.GetErrorCode(), SQLState: r.GetSqlState(), Message: r.GetErrorMessage()}
	if e.Message == "" {
		e.Message = "the operation ended in state " + stateName(r.GetOperationState())
	}
	return e
}

// hiveError turns gohive's kind of refusal into ours; other errors pass.
func hiveError(err error) error {
	if refusal, ok := err.(gohive.HiveError); ok { //nolint:errorlint // gohive returns the value itself
		return &Error{Code: int32(refusal.ErrorCode), Message: refusal.Message} //nolint:gosec // it was an int32 on the wire
	}
	return err
}
