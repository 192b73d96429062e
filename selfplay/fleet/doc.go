// Package fleet carries games and weights between machines: NATS JetStream is
// the queue for games, HTTP carries weights, and a trainer takes from the queue
// only what it has checked.
//
// The types a reader needs:
//
//   - [Server] is the queue inside the trainer's process; an external cluster
//     can stand in its place.
//   - [Intake] is the trainer's side: it takes games from the queue, judges
//     them, stores them and acknowledges them, and tells the workers which net
//     is the newest.
//   - [Web] serves weights, and takes games from guests, over HTTP.
//   - [Link] is a worker's side: it fetches the configuration and the newest
//     weights and sends finished games from its [Outbox].
//   - [Keys] are the invited workers and guests of a run.
//
// # Names
//
// Everything of a run has the queue's name (kirin unless several runs share a
// cluster) in front:
//
//	<queue>-games         stream, work queue: a message is one game, the record of package dataset
//	<queue>.games.<key>   subject under which a worker sends its games
//	<queue>.queued.<key>  subject of these games in an embedded queue
//	<queue>-fleet         key-value bucket: "welcome" is a [Welcome], "state" a [State], both JSON
//	<queue>.state         broadcast of a State when there is a newer net; not stored
//	<queue>.beat.<key>    [Beat] of a worker, every fifteen seconds; not stored
//
// HTTP, on the trainer's second port:
//
//	GET  /fleet/v1/welcome          a Welcome
//	GET  /fleet/v1/state            a State
//	GET  /fleet/v1/weights/<sha256> the file, with ranges
//	POST /fleet/v1/games            one record; 202 when it is in the queue
//
// # The way of a game
//
//	Outbox.Append -> journal on the worker's disk -> stream -> Intake -> shard -> acknowledged
//
// A game is acknowledged when it is in a shard that is flushed and has its
// name. Whatever dies before, the queue delivers the game again, and the intake
// knows the games that are stored by their id: it lists the ids of a net's
// games when the first game of that net arrives. Queue, journal and outbox
// therefore hold a game at least once, the shards exactly once. The queue is no
// archive: it holds what is not acknowledged.
//
// An embedded queue flushes the disk for each message. So that this bounds the
// delay and not the number of games, the trainer's side takes them from the
// workers, puts all that arrive during one flush into the queue as one batch
// with one flush, and answers the workers after it. To an external queue workers
// write by themselves.
//
// The queue is bounded in bytes and in games of one worker, and refuses new
// games when it is full. A worker goes on playing into its outbox until that
// has reached its quota, then it waits and says why.
//
// # Trust
//
// Without keys everyone who reaches the port may play: for one machine or a
// network of one's own. With keys a worker proves itself by an nkey (Ed25519)
// over TLS and may publish under its own subject and read the bucket, nothing
// else. A guest has a token for the HTTP side only, where size and rate are
// limited and the server gives messages their ids. Whoever sent it, a game is
// decoded, replayed and compared with the rules, and its net must be one that
// the run has published. A result that the board does not show (a proven mate)
// is proven again, or the game is played again with its net if that is too hard;
// where this machine cannot play it (another kernel set, the net is gone), it
// counts unless a guest sent it. A share of all games is played again besides,
// and a worker whose game differs is quarantined: its games are put aside.
//
// # Caveats
//
// Message ids are not used between workers and queue: they are per stream, so
// that one worker could suppress another's games. Clocks are compared nowhere:
// ages and delays use the clock of one machine. Names of workers may not
// contain "_", which separates them from the number of their goroutine.
package fleet
