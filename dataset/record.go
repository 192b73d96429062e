package dataset

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"kirin/rules"
)

// Wire constants of a record; see the package comment. Never change one: a new layout gets a new bodyVersion.
const (
	frameMagic  = "KGM1"
	frameHeader = 16
	bodyVersion = 1

	gameTruncated = 1 << 0 // bit of the body's game flags

	maxPayload = 16 << 20 // bytes of a compressed record
	maxBody    = 64 << 20 // bytes of an uncompressed one
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codec turns games into records and back. It holds the compressor and the variants met so far, and is safe for
// concurrent use.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder

	mu       sync.Mutex
	variants map[string]*rules.Variant
}

// NewCodec returns a codec.
func NewCodec() *Codec {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("dataset: " + err.Error())
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
	if err != nil {
		panic("dataset: " + err.Error())
	}
	return &Codec{enc: enc, dec: dec, variants: map[string]*rules.Variant{}}
}

// Variant returns the game of that name under the rules that [Game].Rules states. Unknown ones wrap [ErrNewer].
func (c *Codec) Variant(name, settings string) (*rules.Variant, error) {
	key := name + " " + settings
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.variants[key]; v != nil {
		return v, nil
	}
	v, err := rules.Load(name, strings.Split(settings, ",")...)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNewer, err)
	}
	c.variants[key] = v
	return v, nil
}

// Encode appends the record of g to dst. It replays the game: an illegal move or target is an error, and so is anything
// that is not finite.
func (c *Codec) Encode(dst []byte, g *Game) ([]byte, error) {
	body, err := c.encodeBody(g)
	if err != nil {
		return dst, fmt.Errorf("game %d of %s: %w", g.Number, g.Worker, err)
	}
	start := len(dst)
	dst = append(dst, make([]byte, frameHeader)...)
	dst = c.enc.EncodeAll(body, dst)
	head, payload := dst[start:start+frameHeader], dst[start+frameHeader:]
	if len(payload) > maxPayload || len(body) > maxBody {
		return dst[:start], fmt.Errorf("game %d of %s: the record of %d bytes is too large", g.Number, g.Worker, len(payload))
	}
	copy(head, frameMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[:12], castagnoli))
	return dst, nil
}

// Decode reads exactly one record. The game it returns is legal: every move has been played on a board. What it refuses
// wraps [ErrDamaged], for an illegal move also [rules.ErrIllegalMove], or [ErrNewer].
func (c *Codec) Decode(record []byte) (*Game, error) {
	n, err := frameLength(record)
	if err != nil {
		return nil, err
	}
	if n != len(record) {
		return nil, damaged("the record has %d bytes instead of %d", len(record), n)
	}
	return c.decodePayload(record[frameHeader:])
}

// RecordLength returns the length of the record that starts at the front of b, which need not hold all of it; 16 bytes
// are enough. The error wraps [ErrDamaged].
func RecordLength(b []byte) (int, error) { return frameLength(b) }

// frameLength checks the header at the start of b and returns the length of the record, header included, which b need
// not hold.
func frameLength(b []byte) (int, error) {
	if len(b) < frameHeader {
		return 0, damaged("%d bytes are too few for a record", len(b))
	}
	if string(b[:4]) != frameMagic {
		return 0, damaged("a record does not start here")
	}
	if binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return 0, damaged("the checksum of a record's header is wrong")
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxPayload {
		return 0, damaged("a record of %d bytes is too large", n)
	}
	return frameHeader + int(n), nil
}

// payloadIntact compares the payload of a whole record with its checksum.
func payloadIntact(record []byte) bool {
	return binary.LittleEndian.Uint32(record[8:]) == crc32.Checksum(record[frameHeader:], castagnoli)
}

func (c *Codec) decodePayload(payload []byte) (*Game, error) {
	head := zstd.Header{}
	if err := head.Decode(payload); err != nil || head.HasFCS && head.FrameContentSize > maxBody {
		return nil, damaged("the record is not compressed as it should be")
	}
	body, err := c.dec.DecodeAll(payload, nil)
	if err != nil {
		return nil, damaged("the record cannot be decompressed: %v", err)
	}
	return c.decodeBody(body)
}
