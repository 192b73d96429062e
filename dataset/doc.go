// Package dataset keeps finished games: on disk for ever, and the newest of them in memory for a trainer.
//
// The unit is a [Game]: moves with what the search said at each, never planes, so that any later encoder can train on
// old games. The way of a game is
//
//	Writer.Append -> journal -> shard -> Feed.Poll -> Window.Add -> Window.Sample -> Sample.Replay
//
// A [Store] is the folder; a [Writer] stores the games of one worker; a [Feed] finds new games, in shards and in the
// journals of living workers; a [Window] holds as many positions as its growth law and memory allow and draws samples. No
// file time and no order of directory entries ever decides anything, and a window is a function of the games added and
// their order, so that a cursor (which games, in which order) restores it exactly.
//
// # Folder
//
//	games/<variant>/<step>-<net>/<worker>-<seq>.parquet   shards; step has 9 digits, net is the first 12 of a SHA-256
//	games/<variant>/journals/<worker>-<seq>.journal       games that are not in a shard yet
//	games/quarantine/...                                  what was damaged, under its old path, with NAME.reason beside it
//	games/.locks/<worker>.lock                            locked while a process writes under the worker's name
//
// seq counts the units of a worker from 1, six digits or more, and is never used twice: a unit is first a journal and
// then the shard of the same name, with the same games in the same order, all played by one net. A worker that finds a
// journal of its name at the start died; if the unit's shard is there and intact, only the deletion of the journal was
// missing, else the shard is written from the journal. Sequence numbers go on behind the highest in shards, journals and
// quarantine, which is why the newest shard of a worker is never deleted.
//
// Files other than journals appear whole: written under the name .NAME.tmp, synced, renamed, the folder synced.
//
// # Record
//
// A record is one game; a journal is records one behind the other, and a record is also what travels between machines.
// All numbers are little-endian.
//
//	+-----------+---------------+--------------------+--------------------------+-----------------+
//	| "KGM1"    | u32 length n  | u32 CRC-32C of the | u32 CRC-32C of the 12    | payload:        |
//	| 4 bytes   | of payload    | payload            | bytes before             | n bytes of zstd |
//	+-----------+---------------+--------------------+--------------------------+-----------------+
//
// The header has a checksum of its own so that its length can be trusted: a record whose header is intact and whose
// payload is cut off by the end of the file was not finished when the process died, which is no damage. Behind damaged
// bytes reading goes on at the next intact header. The payload is a zstd frame of at most 16 MiB around a body of at most
// 64 MiB; text is a uvarint length and UTF-8, uvarint and varint are those of encoding/binary:
//
//	uvarint   version, 1
//	16 bytes  id
//	text      variant, rules, start SFEN, result ("sente", "gote", "draw", "ongoing"), reason ("checkmate", ...)
//	uvarint   bit 0: truncated
//	u64       seed
//	varint    number, step
//	text      net, config, version, kernel, worker
//	uvarint   number of move texts, then each as text: the different moves in USI
//	uvarint   number of plies n, then column by column for all plies
//	            uvarint   move: number of its text, from 0
//	            uvarint   flags
//	            uvarint   visits
//	            3 x f32   root value: win, draw, loss
//	            uvarint   number of entries of the target
//	          and for all entries of all targets
//	            uvarint   move: number of its text
//	            u16       weight
//
// Moves are text so that a record does not depend on how package rules numbers things. Reading replays the game: what
// [Codec.Decode] returns is legal to its last move, and its result is the one on the board. A change of this layout gets
// a new version number; a reader that meets a newer one says so ([ErrNewer]) and touches nothing.
//
// The id is the first 16 bytes of the SHA-256 over "kirin game 1", variant, rules, start, net and config, each behind its
// length as u64, and seed and number as u64: see [Game.SetID].
//
// # Shard
//
// A shard is a Parquet file, zstd, data pages with CRC, a row for each game. Columns: id, variant, rules, start_sfen,
// result, reason, truncated, length, positions, seed, number, net, step, config, version, kernel, worker, and the list
// plies of structs of move, win, draw, loss, visits, flags and the list target of structs of move and weight. docs/data.md
// explains them to users. Key-value metadata: kirin.format (1), kirin.variant, kirin.rules (empty if mixed), kirin.games,
// kirin.plies, kirin.positions (plies with a target), and kirin.file_crc32c: eight hexadecimal digits, the CRC-32C of the
// whole file with these eight taken as "0". Page checksums do not cover headers, indexes and the footer; this one covers
// every bit.
//
// # Targets
//
// A weight is a move's share of the policy in units of 1/65535; shares under 2^-12 are dropped ([PackPolicy]), so a
// reader divides by the sum. A ply without a target is not sampled.
//
// # Caveats
//
// Two games of one id count as one: the first one wins. A shard in which anything is wrong is put aside as a whole. A
// game that a rule's own limit ends is a draw like any other; [Game.Truncated] is for caps of the harness.
package dataset
