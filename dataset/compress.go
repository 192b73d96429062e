package dataset

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// pageCodec compresses the pages of shards: zstd with one encoder for all of
// them. The library's own codec makes an encoder of 20 MB anew each time that
// the collector has emptied its pool, which is before nearly every shard; a
// page seldom is longer than a megabyte.
type pageCodec struct{ compress.Codec }

var pages = pageCodec{&parquet.Zstd}

var pageEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // only for options out of range
	}
	return e
})

// Encode writes the compressed form of src over dst.
func (pageCodec) Encode(dst, src []byte) ([]byte, error) {
	return pageEncoder().EncodeAll(src, dst[:0]), nil
}
