package thrift

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"
)

var errNoContent = errors.New("the message holds no request or result")

// exceptionText is the message of a TApplicationException.
type exceptionText string

// readable is a generated struct.
type readable interface {
	Read(context.Context, athrift.TProtocol) error
}

// read decodes body, which the walker has found sound. The limit still guards: no length inside is believed beyond it.
func read(into readable, body []byte) error {
	conf := &athrift.TConfiguration{MaxMessageSize: int32(min(len(body)+1, 1<<31-1))}
	transport := &athrift.TMemoryBuffer{Buffer: bytes.NewBuffer(body)}
	return into.Read(context.Background(), athrift.NewTBinaryProtocolConf(transport, conf))
}

// decodeCall decodes the arguments of a watched call: a *hiveserver.T…Req, without a password.
func decodeCall(m Method, body []byte, truncated bool) (any, error) {
	if !truncated {
		if req := new(parts).plainCall(m, body); req != nil {
			return req, nil
		}
	}
	return generatedCall(m, body, truncated)
}

func generatedCall(m Method, body []byte, truncated bool) (any, error) {
	switch m {
	case OpenSession:
		var a hiveserver.TCLIServiceOpenSessionArgs
		err := read(&a, body)
		if a.Req != nil {
			a.Req.Password = nil
		}
		return outcome(a.Req, err, truncated)
	case CloseSession:
		var a hiveserver.TCLIServiceCloseSessionArgs
		err := read(&a, body)
		return outcome(a.Req, err, truncated)
	case ExecuteStatement:
		var a hiveserver.TCLIServiceExecuteStatementArgs
		err := read(&a, body)
		if truncated && a.Req != nil && a.Req.Statement == "" {
			a.Req.Statement = statementPrefix(body)
		}
		return outcome(a.Req, err, truncated)
	case GetOperationStatus:
		var a hiveserver.TCLIServiceGetOperationStatusArgs
		err := read(&a, body)
		return outcome(a.Req, err, truncated)
	case CancelOperation:
		var a hiveserver.TCLIServiceCancelOperationArgs
		err := read(&a, body)
		return outcome(a.Req, err, truncated)
	case CloseOperation:
		var a hiveserver.TCLIServiceCloseOperationArgs
		err := read(&a, body)
		return outcome(a.Req, err, truncated)
	default:
		return nil, fmt.Errorf("%s is not decoded", m)
	}
}

// decodeReply decodes the result of a watched call: a *hiveserver.T…Resp.
func decodeReply(m Method, body []byte, truncated bool) (any, error) {
	if !truncated {
		if resp := new(parts).plainReply(m, body); resp != nil {
			return resp, nil
		}
	}
	return generatedReply(m, body, truncated)
}

func generatedReply(m Method, body []byte, truncated bool) (any, error) {
	switch m {
	case OpenSession:
		var r hiveserver.TCLIServiceOpenSessionResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	case CloseSession:
		var r hiveserver.TCLIServiceCloseSessionResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	case ExecuteStatement:
		var r hiveserver.TCLIServiceExecuteStatementResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	case GetOperationStatus:
		var r hiveserver.TCLIServiceGetOperationStatusResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	case CancelOperation:
		var r hiveserver.TCLIServiceCancelOperationResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	case CloseOperation:
		var r hiveserver.TCLIServiceCloseOperationResult
		err := read(&r, body)
		return outcome(r.Success, err, truncated)
	default:
		return nil, fmt.Errorf("%s is not decoded", m)
	}
}

// decodeException decodes a TApplicationException's text.
func decodeException(body []byte, truncated bool) (any, error) {
	x := athrift.NewTApplicationException(athrift.UNKNOWN_APPLICATION_EXCEPTION, "")
	if err := read(x, body); err != nil && !truncated {
		return exceptionText(""), fmt.Errorf("decode exception: %w", err)
	}
	return exceptionText(x.Error()), nil
}

// outcome is the decoded struct. Of a truncated message the fields before the cut are good; the error is the cut itself.
func outcome[T any](v *T, err error, truncated bool) (any, error) {
	switch {
	case err != nil && !truncated:
		return nil, fmt.Errorf("decode %T: %w", v, err)
	case v == nil && truncated:
		return nil, nil //nolint:nilnil // nothing came before the cut, and that is no failure
	case v == nil:
		return nil, fmt.Errorf("decode %T: %w", v, errNoContent)
	default:
		return v, nil
	}
}
