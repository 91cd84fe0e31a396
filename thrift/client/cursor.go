package client

import (
	"context"
	"fmt"
	"strconv"

	"github.com/beltran/gohive"
)

// rows reads the columns and all rows of a statement that has a result set. known says that it has one; older servers do
// not tell, and an empty result is then one without columns.
func (s *Session) rows(ctx context.Context, cursor *gohive.Cursor, known bool, result *Result) error {
	var types []string
	limit := limits{}
	for {
		more, err := s.more(ctx, cursor)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		if types == nil && (more || known) {
			if types, err = s.columns(ctx, cursor, result); err != nil {
				return fmt.Errorf("read columns: %w", err)
			}
		}
		if !more {
			return nil
		}
		row := newRow(types)
		err = s.do(ctx, s.config.CallTimeout, func(ctx context.Context) error {
			cursor.FetchOne(ctx, row...)
			return cursor.Err
		})
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		texts := rowTexts(row)
		if err := limit.add([][]*string{texts}); err != nil {
			return err
		}
		result.Rows = append(result.Rows, texts)
	}
}

// more reports whether another row can be read.
func (s *Session) more(ctx context.Context, cursor *gohive.Cursor) (more bool, err error) {
	err = s.do(ctx, s.config.CallTimeout, func(ctx context.Context) error {
		more = cursor.HasMore(ctx)
		return cursor.Err
	})
	return more, err
}

// columns reads the names into result and returns the types, as TTypeId names them.
func (s *Session) columns(ctx context.Context, cursor *gohive.Cursor, result *Result) ([]string, error) {
	var description [][]string
	err := s.do(ctx, s.config.CallTimeout, func(context.Context) error {
		description = cursor.Description()
		return cursor.Err
	})
	if err != nil {
		return nil, err
	}
	types := make([]string, len(description))
	for i, column := range description {
		if len(column) != 2 {
			return nil, fmt.Errorf("column %d has no type", i+1)
		}
		result.Columns = append(result.Columns, column[0])
		types[i] = column[1]
	}
	return types, nil
}

// newRow makes the destinations FetchOne fills: pointers to pointers, which NULL leaves nil. gohive wants the type the
// value has on the wire: DECIMAL, DATE, TIMESTAMP and the complex types travel as text, FLOAT as double.
func newRow(types []string) []any {
	row := make([]any, len(types))
	for i, t := range types {
		switch t {
		case "BOOLEAN_TYPE":
			row[i] = new(*bool)
		case "TINYINT_TYPE":
			row[i] = new(*int8)
		case "SMALLINT_TYPE":
			row[i] = new(*int16)
		case "INT_TYPE":
			row[i] = new(*int32)
		case "BIGINT_TYPE":
			row[i] = new(*int64)
		case "FLOAT_TYPE", "DOUBLE_TYPE":
			row[i] = new(*float64)
		case "BINARY_TYPE":
			row[i] = new([]byte)
		default:
			row[i] = new(*string)
		}
	}
	return row
}

// rowTexts turns filled destinations into text.
func rowTexts(row []any) []*string {
	texts := make([]*string, len(row))
	for i, value := range row {
		switch v := value.(type) {
		case **string:
			texts[i] = *v
		case **bool:
			texts[i] = optional(*v, strconv.FormatBool)
		case **int8:
			texts[i] = optional(*v, integerText)
		case **int16:
			texts[i] = optional(*v, integerText)
		case **int32:
			texts[i] = optional(*v, integerText)
		case **int64:
			texts[i] = optional(*v, integerText)
		case **float64:
			texts[i] = optional(*v, doubleText)
		case *[]byte:
			if *v != nil {
				s := string(*v)
				texts[i] = &s
			}
		}
	}
	return texts
}
