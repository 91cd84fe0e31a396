package hiveql

import "testing"

func TestStringValue(t *testing.T) {
	tests := []struct{ literal, want string }{
		{`''`, ""},
		{`'a'`, "a"},
		{`'a''b'"c"`, "abc"},
		{`'\'\"\\'`, `'"\`},
		{`'\n\t\r\b\Z\0'`, "\n\t\r\b\x1a\x00"},
		{`'\%\_'`, `\%\_`},
		{`'\u00e9\u20AC'`, "é€"},
		{`'\u00e'`, "u00e"},
		{`'\101\x'`, "Ax"},
		{`'\201'`, "201"},
		{`'\é'`, "é"},
	}
	for _, tt := range tests {
		if got := stringValue(tt.literal); got != tt.want {
			t.Errorf("stringValue(%s) = %q, want %q", tt.literal, got, tt.want)
		}
	}
}

func TestNumberValue(t *testing.T) {
	for literal, want := range map[string]string{
		"1": "1", "10L": "10", "2S": "2", "3y": "3", "1.5BD": "1.5", "1.50": "1.50", "1d": "1", "10G": "10", "0x1D": "0x1D", "0": "0",
	} {
		if got := numberValue(literal); got != want {
			t.Errorf("numberValue(%s) = %q, want %q", literal, got, want)
		}
	}
}
