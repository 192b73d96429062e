package network_test

import (
	"strings"
	"testing"

	"kirin/network"
)

func TestASpecReadsBackAsItIsWritten(t *testing.T) {
	for text, want := range map[string]network.Spec{
		"3x32": {Blocks: 3, Channels: 32}, "4x64": {Blocks: 4, Channels: 64}, "6x96g2": {Blocks: 6, Channels: 96, PoolEvery: 2}, "99x1024g99": {Blocks: 99, Channels: 1024, PoolEvery: 99},
	} {
		s, err := network.ParseSpec(text)
		if err != nil || s != want || s.String() != text {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
		var again network.Spec
		if b, err := s.MarshalText(); err != nil || again.UnmarshalText(b) != nil || again != s {
			t.Errorf("%s: comes back from text as %+v", text, again)
		}
	}
}

func TestAWrongSpecIsExplained(t *testing.T) {
	for text, part := range map[string]string{
		"": "BLOCKSxCHANNELS", "4": "BLOCKSxCHANNELS", "x": "BLOCKSxCHANNELS", "4x64g": "BLOCKSxCHANNELS", "04x64": "BLOCKSxCHANNELS", "4x64 ": "BLOCKSxCHANNELS", "-4x64": "BLOCKSxCHANNELS",
		"4x64g2g2": "BLOCKSxCHANNELS", "100x16": "1 to 99", "4x17": "multiples of 16", "4x8": "multiples of 16", "4x2048": "multiples of 16", "2x16g3": "there are 2 blocks",
	} {
		_, err := network.ParseSpec(text)
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPoolingPathsAreInEveryNthBlock(t *testing.T) {
	s := network.Spec{Blocks: 5, Channels: 16, PoolEvery: 2}
	for i, want := range []bool{false, true, false, true, false} {
		if s.Pools(i) != want {
			t.Errorf("block %d: %v", i, s.Pools(i))
		}
	}
	if (network.Spec{Blocks: 5, Channels: 16}).Pools(0) {
		t.Error("a net without pooling paths has one")
	}
}
