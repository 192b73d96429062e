package corpus

import (
	"reflect"
	"testing"
)

func TestEveryKindOfArgumentIsRead(t *testing.T) {
	got, err := parse("go test fuzz v1\nbyte('&')\nbyte('\\x1b')\nbyte('\\u0091')\nbyte('¾')\nbyte('\\'')\nstring(\"\\xf0(歩)\\n\")\n[]byte(\"\\x00\")\n")
	want := []any{byte('&'), byte(0x1b), byte(0x91), byte(0xbe), byte('\''), "\xf0(歩)\n", []byte{0}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v", got, err)
	}
	for _, text := range []string{"", "go test fuzz v2\n", "go test fuzz v1\nint(3)", "go test fuzz v1\nbyte('ab')", "go test fuzz v1\nstring(\"", "go test fuzz v1\nx"} {
		if got, err := parse(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
