package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"kirin/rules"
)

// Wire constants of a shard; see the package comment.
const (
	shardVersion = "1"

	keyFormat    = "kirin.format"
	keyVariant   = "kirin.variant"
	keyRules     = "kirin.rules"
	keyGames     = "kirin.games"
	keyPlies     = "kirin.plies"
	keyPositions = "kirin.positions"
	keyCRC       = "kirin.file_crc32c"
	blankCRC     = "00000000" // stands in place of the file's checksum while it is computed

	maxGroup = 1 << 11 // games in a row group, which is built in memory

	parquetTail = 8 // bytes behind the footer: its length and "PAR1"
)

// row is a game as a shard stores it. The tags are the column names that users see.
type row struct {
	ID        string   `parquet:"id"`
	Variant   string   `parquet:"variant,dict"`
	Rules     string   `parquet:"rules,dict"`
	Start     string   `parquet:"start_sfen,dict"`
	Result    string   `parquet:"result,dict"`
	Reason    string   `parquet:"reason,dict"`
	Truncated bool     `parquet:"truncated"`
	Length    int32    `parquet:"length"`
	Positions int32    `parquet:"positions"`
	Seed      uint64   `parquet:"seed"`
	Number    int64    `parquet:"number"`
	Net       string   `parquet:"net,dict"`
	Step      int64    `parquet:"step"`
	Config    string   `parquet:"config,dict"`
	Version   string   `parquet:"version,dict"`
	Kernel    string   `parquet:"kernel,dict"`
	Worker    string   `parquet:"worker,dict"`
	Plies     []plyRow `parquet:"plies,list"`
}

type plyRow struct {
	Move   string      `parquet:"move,dict"`
	Win    float32     `parquet:"win"`
	Draw   float32     `parquet:"draw"`
	Loss   float32     `parquet:"loss"`
	Visits uint32      `parquet:"visits"`
	Flags  uint16      `parquet:"flags"`
	Target []targetRow `parquet:"target,list"`
}

type targetRow struct {
	Move   string `parquet:"move,dict"`
	Weight uint16 `parquet:"weight"`
}

// ShardInfo is what a shard tells about itself.
type ShardInfo struct {
	Variant   string `json:"variant"`
	Rules     string `json:"rules"`
	Games     int    `json:"games"`
	Plies     int64  `json:"plies"`
	Positions int64  `json:"positions"` // plies with a target
}

// shardWriter writes games into one Parquet file.
type shardWriter struct {
	w     *parquet.GenericWriter[row]
	crc   *crcWriter
	codec *Codec
	info  ShardInfo
	row   [1]row
	mixed bool // games of more than one variant or rule set
}

// crcWriter counts and sums what goes through it and keeps the end.
type crcWriter struct {
	f   File
	sum uint32
	n   int64
}

func (w *crcWriter) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.sum = crc32.Update(w.sum, castagnoli, b[:n])
	w.n += int64(n)
	return n, err
}

func newShardWriter(f File, codec *Codec) *shardWriter {
	w := &shardWriter{crc: &crcWriter{f: f}, codec: codec}
	w.w = parquet.NewGenericWriter[row](w.crc,
		parquet.Compression(pages),
		parquet.CreatedBy("kirin", shardVersion, ""),
		parquet.DataPageStatistics(true),
		parquet.MaxRowsPerRowGroup(maxGroup),
	)
	return w
}

func (w *shardWriter) add(g *Game) error {
	v, err := w.codec.Variant(g.Variant, g.Rules)
	if err != nil {
		return err
	}
	texts, err := collectTexts(v, g)
	if err != nil {
		return err
	}
	if w.info.Games > 0 && (g.Variant != w.info.Variant || g.Rules != w.info.Rules) {
		w.mixed = true
	}
	w.info.Variant, w.info.Rules = g.Variant, g.Rules
	targets := texts.targets
	positions := g.Positions()
	r := &w.row[0]
	plies := r.Plies[:0]
	*r = row{
		ID: g.ID.String(), Variant: g.Variant, Rules: g.Rules, Start: g.Start,
		Result: g.Outcome.Result.String(), Reason: g.Outcome.Reason.String(), Truncated: g.Truncated,
		Length: int32(len(g.Plies)), Positions: int32(positions), Seed: g.Seed, Number: g.Number, Net: g.Net, Step: g.Step,
		Config: g.Config, Version: g.Version, Kernel: g.Kernel, Worker: g.Worker,
	}
	for i := range g.Plies {
		p := &g.Plies[i]
		if i < cap(plies) {
			plies = plies[:i+1]
		} else {
			plies = append(plies, plyRow{})
		}
		target := plies[i].Target[:0]
		for j, t := range p.Target {
			target = append(target, targetRow{texts.list[targets[j]], t.Weight})
		}
		targets = targets[len(p.Target):]
		plies[i] = plyRow{
			Move: texts.list[texts.moves[i]], Win: p.Value.Win, Draw: p.Value.Draw, Loss: p.Value.Loss,
			Visits: p.Visits, Flags: uint16(p.Flags), Target: target,
		}
	}
	r.Plies = plies
	w.info.Games++
	w.info.Plies += int64(len(g.Plies))
	w.info.Positions += int64(positions)
	_, err = w.w.Write(w.row[:])
	return err
}

// close finishes the file and writes its checksum into its footer. The file itself stays open.
func (w *shardWriter) close() error {
	variant, settings := w.info.Variant, w.info.Rules
	if w.mixed {
		variant, settings = "", ""
	}
	for k, v := range map[string]string{
		keyFormat: shardVersion, keyVariant: variant, keyRules: settings,
		keyGames: strconv.Itoa(w.info.Games), keyPlies: strconv.FormatInt(w.info.Plies, 10),
		keyPositions: strconv.FormatInt(w.info.Positions, 10), keyCRC: blankCRC,
	} {
		w.w.SetKeyValueMetadata(k, v)
	}
	if err := w.w.Close(); err != nil {
		return err
	}
	footer, err := readFooter(w.crc.f, w.crc.n)
	if err != nil {
		return err
	}
	at := crcPlace(footer)
	if at < 0 {
		return errors.New("the footer has no place for the checksum")
	}
	_, err = w.crc.f.WriteAt(fmt.Appendf(nil, "%08x", w.crc.sum), w.crc.n-int64(len(footer))+int64(at))
	return err
}

// readFooter returns the end of a Parquet file from the first byte of its footer on.
func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	var tail [parquetTail]byte
	if size < 2*parquetTail {
		return nil, damaged("%d bytes are too few for a shard", size)
	}
	if _, err := r.ReadAt(tail[:], size-parquetTail); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:])) + parquetTail
	if string(tail[4:]) != "PAR1" || n > size {
		return nil, damaged("the file does not end like a Parquet file")
	}
	footer := make([]byte, n)
	_, err := r.ReadAt(footer, size-n)
	return footer, err
}

// crcPlace returns the offset in the footer of the eight digits of the file's checksum, or -1. In the footer's encoding
// the value follows the key behind two bytes: the field's type and its length.
func crcPlace(footer []byte) int {
	mark := append([]byte(keyCRC), 0x18, byte(len(blankCRC)))
	at := bytes.LastIndex(footer, mark)
	if at < 0 || at+len(mark)+len(blankCRC) > len(footer)-parquetTail {
		return -1
	}
	return at + len(mark)
}

// checkCRC compares the bytes of a whole shard with the checksum that it carries.
func checkCRC(b []byte) error {
	at, err := crcOffset(b)
	if err != nil {
		return err
	}
	if string(fileCRC(b, at)) != string(b[at:at+len(blankCRC)]) {
		return damaged("the file's checksum is wrong")
	}
	return nil
}

// crcOffset returns where in a shard its checksum stands.
func crcOffset(b []byte) (int, error) {
	footer, err := readFooter(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0, err
	}
	at := crcPlace(footer)
	if at < 0 {
		return 0, damaged("the file carries no checksum of its own")
	}
	return at + len(b) - len(footer), nil
}

// fileCRC returns the checksum of a shard: of all its bytes with zeros in the place at of the checksum.
func fileCRC(b []byte, at int) []byte {
	sum := crc32.Update(0, castagnoli, b[:at])
	sum = crc32.Update(sum, castagnoli, []byte(blankCRC))
	sum = crc32.Update(sum, castagnoli, b[at+len(blankCRC):])
	return fmt.Appendf(nil, "%08x", sum)
}

// writeShard makes a shard of games appear at path, whole or not at all. each calls its argument for each game.
func writeShard(fsys FS, path string, codec *Codec, each func(add func(*Game) error) error) (ShardInfo, error) {
	var info ShardInfo
	err := writeWhole(fsys, path, func(f File) error {
		w := newShardWriter(f, codec)
		if err := each(w.add); err != nil {
			return err
		}
		if err := w.close(); err != nil {
			return err
		}
		info = w.info
		return nil
	})
	return info, err
}

// shard is an open shard whose bytes are known to be what was written.
type shard struct {
	file *parquet.File
	info ShardInfo
}

// openShard reads a whole shard and checks its checksum and its description.
func openShard(fsys FS, path string) (*shard, error) {
	b, err := readFile(fsys, path, 0)
	if err != nil {
		return nil, err
	}
	return parseShard(b)
}

func parseShard(b []byte) (*shard, error) {
	if err := checkCRC(b); err != nil {
		return nil, err
	}
	return describeShard(bytes.NewReader(b), int64(len(b)))
}

func describeShard(r io.ReaderAt, size int64) (s *shard, err error) {
	defer recovered(&err)
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, damaged("%v", err)
	}
	s = &shard{file: file}
	meta := map[string]string{}
	for _, k := range [...]string{keyFormat, keyVariant, keyRules, keyGames, keyPlies, keyPositions} {
		v, ok := file.Lookup(k)
		if !ok {
			return nil, damaged("the file does not state %s", k)
		}
		meta[k] = v
	}
	if meta[keyFormat] != shardVersion {
		return nil, fmt.Errorf("shard of format %s: %w", meta[keyFormat], ErrNewer)
	}
	s.info.Variant, s.info.Rules = meta[keyVariant], meta[keyRules]
	games, err1 := strconv.Atoi(meta[keyGames])
	plies, err2 := strconv.ParseInt(meta[keyPlies], 10, 64)
	positions, err3 := strconv.ParseInt(meta[keyPositions], 10, 64)
	if errors.Join(err1, err2, err3) != nil || int64(games) != file.NumRows() {
		return nil, damaged("the file's description does not fit its content")
	}
	s.info.Games, s.info.Plies, s.info.Positions = games, plies, positions
	return s, nil
}

// recovered turns a panic of the Parquet reader, which trusts the structure of its input, into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = damaged("the file cannot be read: %v", r)
	}
}

// readAll calls f for each row of a file, reading only the columns that R names. The row is only valid during the call.
func readAll[R any](file *parquet.File, batch int, f func(*R) error) error {
	r, err := openRows[R](file)
	if err != nil {
		return err
	}
	defer r.Close()
	rows := make([]R, batch)
	for {
		n, err := readRows(r, rows)
		for i := range rows[:n] {
			if err := f(&rows[i]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func openRows[R any](file *parquet.File) (r *parquet.GenericReader[R], err error) {
	defer recovered(&err)
	return parquet.NewGenericReader[R](file), nil
}

func readRows[R any](r *parquet.GenericReader[R], rows []R) (n int, err error) {
	defer recovered(&err)
	n, err = r.Read(rows)
	if err != nil && err != io.EOF {
		err = damaged("%v", err)
	}
	return n, err
}

// games decodes all games in order and calls f for each.
func (s *shard) games(codec *Codec, f func(*Game) error) error {
	i := 0
	return readAll(s.file, 16, func(r *row) error {
		i++
		g, err := r.game(codec)
		if err != nil {
			return fmt.Errorf("game %d: %w", i, err)
		}
		return f(g)
	})
}

// game turns a row back into a game, replaying it.
func (r *row) game(codec *Codec) (*Game, error) {
	g := &Game{
		Variant: r.Variant, Rules: r.Rules, Start: r.Start, Truncated: r.Truncated, Seed: r.Seed, Number: r.Number,
		Net: r.Net, Step: r.Step, Config: r.Config, Version: r.Version, Kernel: r.Kernel, Worker: r.Worker,
	}
	var err error
	if g.ID, err = ParseID(r.ID); err != nil {
		return nil, damaged("%v", err)
	}
	if g.Outcome, err = parseOutcome(r.Result, r.Reason); err != nil {
		return nil, err
	}
	if int(r.Length) != len(r.Plies) || len(r.Plies) > maxPlies {
		return nil, damaged("%d plies instead of %d", len(r.Plies), r.Length)
	}
	v, err := codec.Variant(g.Variant, g.Rules)
	if err != nil {
		return nil, err
	}
	raw := &rawPlies{plies: make([]Ply, len(r.Plies)), moves: make([]uint32, len(r.Plies)), sizes: make([]int, len(r.Plies))}
	texts := map[string]uint32{}
	number := func(s string) uint32 {
		n, ok := texts[s]
		if !ok {
			n = uint32(len(texts))
			texts[s] = n
		}
		return n
	}
	for i := range r.Plies {
		p := &r.Plies[i]
		raw.plies[i] = Ply{Value: rules.Value{Win: p.Win, Draw: p.Draw, Loss: p.Loss}, Visits: p.Visits, Flags: Flags(p.Flags)}
		raw.moves[i] = number(p.Move)
		raw.sizes[i] = len(p.Target)
		for _, t := range p.Target {
			raw.targets = append(raw.targets, rawTarget{number(t.Move), t.Weight})
		}
	}
	list := make([]string, len(texts))
	for _, s := range slices.Collect(maps.Keys(texts)) {
		list[texts[s]] = s
	}
	if err := raw.resolve(v, g, func(i uint32) string { return list[i] }); err != nil {
		return nil, err
	}
	if n := g.Positions(); n != int(r.Positions) {
		return nil, damaged("%d positions instead of %d", n, r.Positions)
	}
	return g, nil
}

// idNumber is the part of a row that tells which game it is.
type idNumber struct {
	ID     string `parquet:"id"`
	Number int64  `parquet:"number"`
	Step   int64  `parquet:"step"`
}

// index reads only the columns that tell which games the shard holds.
func (s *shard) index(f func(id ID, number, step int64) error) error {
	return readAll(s.file, 64, func(r *idNumber) error {
		id, err := ParseID(r.ID)
		if err != nil {
			return damaged("%v", err)
		}
		return f(id, r.Number, r.Step)
	})
}
