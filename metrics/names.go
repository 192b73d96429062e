package metrics

import "slices"

// Kind is the type of a metric.
type Kind string

// The kinds in use.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// Name describes one metric.
type Name struct {
	Name   string
	Kind   Kind
	Unit   string // of the value; "1" for a plain count or a state
	Labels []string
	Help   string
}

// Names lists every metric of kirin, in the order of the table.
func Names() []Name { return slices.Clone(names) }

// names is the one list of metrics: kirin_<part>_<what>_<unit>.
var names = []Name{
	// The run and its machine.
	{"kirin_build_info", KindGauge, "1", []string{"version", "revision", "goversion", "kernels"},
		"Always 1; the labels name the program, its Go version and the kernel set chosen on this CPU."},
	{"kirin_run_info", KindGauge, "1", []string{"run", "variant", "rules", "net"},
		"Always 1; the labels name the run, its game, its rule options and the shape of its net."},
	{"kirin_run_start_time_seconds", KindGauge, "seconds", nil,
		"When this process took up the run, in seconds since 1970."},
	{"kirin_waiting", KindGauge, "1", []string{"part", "reason"},
		"1 while a part of the run waits for this reason, else 0."},
	{"kirin_cpu_seconds_total", KindCounter, "seconds", []string{"part"},
		"CPU time of this process spent in a part of the work."},
	{"kirin_cpu_cores", KindGauge, "cores", nil,
		"CPU cores that this process may use."},
	{"kirin_cpu_steal_seconds_total", KindCounter, "seconds", nil,
		"CPU time of the whole machine that its host gave to others since this process started (Linux only)."},
	{"kirin_disk_used_bytes", KindGauge, "bytes", []string{"kind"},
		"Size of the run folder by kind of file: games, weights, checkpoints, other."},
	{"kirin_disk_limit_bytes", KindGauge, "bytes", nil,
		"The most that the games of the run may take on disk; 0 when there is no limit."},
	{"kirin_disk_free_bytes", KindGauge, "bytes", nil,
		"Free space on the disk that holds the run folder."},

	// Self-play.
	{"kirin_selfplay_games_total", KindCounter, "games", []string{"result", "reason"},
		"Self-play games finished, by result (sente, gote, draw) and by what ended them."},
	{"kirin_selfplay_plies_total", KindCounter, "plies", nil,
		"Moves played in self-play, by both sides."},
	{"kirin_selfplay_game_plies", KindHistogram, "plies", nil,
		"Length of finished self-play games."},
	{"kirin_selfplay_searches_total", KindCounter, "searches", []string{"kind"},
		"Searches finished in self-play: full (their moves are policy targets) or cheap."},
	{"kirin_selfplay_workers", KindGauge, "workers", nil,
		"Goroutines that play games."},
	{"kirin_selfplay_net_step", KindGauge, "steps", nil,
		"Training step of the net that plays now."},
	{"kirin_selfplay_last_game_timestamp_seconds", KindGauge, "seconds", nil,
		"When the last self-play game ended, in seconds since 1970."},
	{"kirin_selfplay_policy_entropy_nats", KindGauge, "nats", nil,
		"Mean entropy of the net's policy over the legal moves, on samples of the window."},
	{"kirin_selfplay_target_entropy_nats", KindGauge, "nats", nil,
		"Mean entropy of the search's improved policy at the roots of recent games."},
	{"kirin_selfplay_first_move_ratio", KindGauge, "ratio", nil,
		"Share of recent games that began with the commonest first move."},
	{"kirin_selfplay_repetition_ratio", KindGauge, "ratio", nil,
		"Share of recent games that a repetition ended, perpetual check included."},
	{"kirin_selfplay_first_player_score_ratio", KindGauge, "ratio", nil,
		"Mean score of the side that moved first in recent games (win 1, draw 1/2)."},
	{"kirin_selfplay_value_error_ratio", KindGauge, "ratio", nil,
		"Calibration of the value at the roots: mean distance between expected and actual score over ten bins, recent games."},
	{"kirin_selfplay_resignations_checked_total", KindCounter, "games", nil,
		"Games played on although a side would have resigned."},
	{"kirin_selfplay_resignations_false_total", KindCounter, "games", nil,
		"Games played on in which the side that would have resigned did not lose."},
	{"kirin_selfplay_decided_plies_total", KindCounter, "plies", nil,
		"Plies searched with fewer simulations because the game was decided."},

	// Search, mate search, net.
	{"kirin_search_simulations_total", KindCounter, "simulations", nil,
		"Tree search simulations."},
	{"kirin_search_proven_roots_total", KindCounter, "positions", nil,
		"Root positions whose result was proven."},
	{"kirin_mate_searches_total", KindCounter, "searches", []string{"result"},
		"Mate searches before a move, by result (mate, no_mate, unknown)."},
	{"kirin_mate_leaves_total", KindCounter, "positions", nil,
		"Leaves of the tree at which a mate was found."},
	{"kirin_mate_nodes_total", KindCounter, "nodes", nil,
		"Positions visited by the mate search, before moves and at leaves."},
	{"kirin_network_positions_total", KindCounter, "positions", nil,
		"Positions evaluated by the net in play."},
	{"kirin_network_batches_total", KindCounter, "batches", nil,
		"Batches evaluated by the net in play."},

	// Training.
	{"kirin_train_step", KindGauge, "steps", nil,
		"Training steps of the run so far, over all its starts."},
	{"kirin_train_steps_total", KindCounter, "steps", nil,
		"Training steps done by this process."},
	{"kirin_train_samples_total", KindCounter, "samples", nil,
		"Positions trained on by this process, each time it was drawn."},
	{"kirin_train_last_step_timestamp_seconds", KindGauge, "seconds", nil,
		"When the last training step ended, in seconds since 1970."},
	{"kirin_train_loss", KindGauge, "1", []string{"head"},
		"Loss on samples of the window, by head (policy, value, plies_left, and soft and reply where they are trained) and total."},
	{"kirin_train_fresh_loss", KindGauge, "1", []string{"head"},
		"Loss on games that the trainer has not seen yet, by head."},
	{"kirin_train_policy_accuracy_ratio", KindGauge, "ratio", nil,
		"Share of samples whose most likely move is the target's first choice."},
	{"kirin_train_gradient_norm", KindGauge, "1", nil,
		"Euclidean norm of the gradient before clipping."},
	{"kirin_train_largest_activation", KindGauge, "1", nil,
		"Largest absolute activation in the net's body in the last step that looked."},
	{"kirin_train_learning_rate", KindGauge, "1", nil,
		"Learning rate of the last step."},
	{"kirin_train_samples_per_position_ratio", KindGauge, "ratio", nil,
		"Training samples drawn for each new position, over the whole run."},
	{"kirin_train_samples_per_position_target_ratio", KindGauge, "ratio", nil,
		"Training samples for each new position that the run is set to."},
	{"kirin_train_staleness_steps", KindGauge, "steps", nil,
		"Mean age of the samples: steps between the net that played them and the net that learns from them."},
	{"kirin_train_dropped_steps_total", KindCounter, "steps", nil,
		"Training steps dropped because a loss or gradient was not finite."},
	{"kirin_train_restored_checkpoints_total", KindCounter, "checkpoints", nil,
		"Times that the last good checkpoint was restored after several dropped steps."},
	{"kirin_train_checkpoint_step", KindGauge, "steps", nil,
		"Step of the last checkpoint written."},

	// Window and games on disk.
	{"kirin_window_games", KindGauge, "games", nil,
		"Games in the training window."},
	{"kirin_window_positions", KindGauge, "positions", nil,
		"Positions in the training window."},
	{"kirin_window_limit_positions", KindGauge, "positions", nil,
		"Positions that the training window may hold at this point of the run."},
	{"kirin_window_bytes", KindGauge, "bytes", nil,
		"Memory taken by the training window."},
	{"kirin_window_duplicate_games_total", KindCounter, "games", nil,
		"Games offered to the window again and left out."},
	{"kirin_window_duplicate_positions_ratio", KindGauge, "ratio", nil,
		"Share of the window's positions that occur in it more than once, estimated from a sixteenth of them."},
	{"kirin_dataset_quarantined_files_total", KindCounter, "files", nil,
		"Damaged files set aside."},
	{"kirin_dataset_removed_files_total", KindCounter, "files", nil,
		"Game files removed to keep within the disk limit."},

	// Rating.
	{"kirin_rating_elo", KindGauge, "elo", []string{"player"},
		"Rating of a player fitted over all rating games: the newest net and the fixed anchors."},
	{"kirin_rating_low_elo", KindGauge, "elo", []string{"player"},
		"Lower end of the rating's 95 % interval."},
	{"kirin_rating_high_elo", KindGauge, "elo", []string{"player"},
		"Upper end of the rating's 95 % interval."},
	{"kirin_rating_games_total", KindCounter, "games", nil,
		"Rating games finished."},

	// A run on several machines: the trainer's side, then a worker's.
	{"kirin_fleet_workers", KindGauge, "workers", nil,
		"Worker processes heard of within the last two minutes."},
	{"kirin_fleet_wanted_workers", KindGauge, "workers", nil,
		"Worker processes that would keep the trainer busy without a backlog: for autoscaling."},
	{"kirin_fleet_connections", KindGauge, "connections", nil,
		"Open connections to the embedded queue."},
	{"kirin_fleet_games_total", KindCounter, "games", nil,
		"Games of workers that were checked and are in a shard."},
	{"kirin_fleet_refused_total", KindCounter, "refusals", []string{"reason"},
		"Games, messages and connections of workers that were turned away, by reason."},
	{"kirin_fleet_redelivered_total", KindCounter, "games", nil,
		"Games that the queue delivered again because they were not acknowledged in time."},
	{"kirin_fleet_verified_total", KindCounter, "games", []string{"result"},
		"Games of workers played again with their net: same, different, or impossible to compare here."},
	{"kirin_fleet_backlog_games", KindGauge, "games", nil,
		"Games in the queue, those being worked on included."},
	{"kirin_fleet_backlog_bytes", KindGauge, "bytes", nil,
		"Size of the queue."},
	{"kirin_fleet_unacknowledged_games", KindGauge, "games", nil,
		"Games that the trainer has taken from the queue and that are not in a shard yet."},
	{"kirin_fleet_delay_seconds", KindHistogram, "seconds", nil,
		"Time from a game's arrival in the queue until it is in a shard."},
	{"kirin_fleet_staleness_steps", KindGauge, "steps", nil,
		"Mean number of steps by which the nets of arriving games are behind the newest."},
	{"kirin_fleet_quarantined_workers", KindGauge, "workers", nil,
		"Workers whose games are put aside because one of them was not what their net plays."},
	{"kirin_fleet_weights_sent_bytes_total", KindCounter, "bytes", nil,
		"Bytes of weights sent to workers."},
	{"kirin_fleet_outbox_games", KindGauge, "games", nil,
		"Finished games of this worker that the queue does not have yet."},
	{"kirin_fleet_outbox_bytes", KindGauge, "bytes", nil,
		"Size of the finished games of this worker that the queue does not have yet."},
	{"kirin_fleet_sent_total", KindCounter, "games", nil,
		"Games of this worker that the queue has taken."},
	{"kirin_fleet_send_seconds", KindHistogram, "seconds", nil,
		"Time to hand a game to the queue until it is safe there."},

	// The page itself.
	{"kirin_page_clients", KindGauge, "clients", nil,
		"Open pages that follow the run."},
	{"kirin_page_dropped_clients_total", KindCounter, "clients", nil,
		"Pages cut off because they did not keep up."},
}

// Parts of the work to which CPU time is accounted.
type Part uint8

// The parts.
const (
	PartSearch  Part = iota // tree search and move generation
	PartNetwork             // encoding and forward pass in play
	PartMate                // mate search
	PartTrain               // batches and training steps
	PartRating              // rating games, all of their work
	PartStorage             // game files, checkpoints, weights
	PartCount
)

var partNames = [PartCount]string{"search", "network", "mate", "train", "rating", "storage"}

// String gives the part's label.
func (p Part) String() string {
	if p >= PartCount {
		return "other"
	}
	return partNames[p]
}

// Reasons why a part of a run waits. [Metrics.Wait] takes these only: they are
// label values, so their number must stay small.
const (
	WaitGames      = "few_games"       // the trainer needs more games before its first step
	WaitPositions  = "ratio_reached"   // the trainer has used the new positions up to the ratio
	WaitTrainer    = "trainer_behind"  // self-play is ahead and leaves the CPU to the trainer
	WaitWeights    = "no_weights"      // no net to play with yet
	WaitGeneration = "next_generation" // lockstep: the other side has to finish its part
	WaitDiskFull   = "disk_full"       // nothing can be written
	WaitFleet      = "no_connection"   // the queue of a run on several machines cannot be reached
	WaitOutbox     = "outbox_full"     // a worker's own journal is full of games that the queue does not take
	WaitOther      = "other"
)

var waitReasons = []string{WaitGames, WaitPositions, WaitTrainer, WaitWeights, WaitGeneration,
	WaitDiskFull, WaitFleet, WaitOutbox, WaitOther}
