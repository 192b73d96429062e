// The charts of the page: what each draws and what it should look like.
import { bytes, percent, words } from "./util.js";

const head = (base, h) => `kirin_train_${base}{head="${h}"}`;

// losses draws a head's loss on the window beside that on new games.
const losses = (h) => (s) => [
  { label: "window", values: s.value(head("loss", h)) },
  { label: "new games", values: s.value(head("fresh_loss", h)), dash: true, color: 1 },
];

const one = (name) => (s) => [{ label: "", values: s.value(name) }];

// highest draws the highest value of each span, so that no peak is lost.
const highest = (name) => (s) => [{ label: "", values: s.high[name] || s.value(name), exact: true }];

const rate = (name) => (s) => [{ label: "", values: s.rate(s.sum(name)) }];

const ordered = (map, order) => new Map([...map].sort(([a], [b]) => place(order, a) - place(order, b) || (a < b ? -1 : 1)));
const place = (order, k) => (order.includes(k) ? order.indexOf(k) : order.length);

const parts = ["network", "search", "mate", "train", "rating", "storage"];
const reasons = ["checkmate", "mate_proven", "royal_captured", "no_moves", "bare_king", "resignation", "declaration", "repetition", "perpetual_check", "ply_limit", "adjudicated"];
const reasonColors = { checkmate: 0, mate_proven: 2, royal_captured: 0, no_moves: 5, resignation: 3, declaration: 5, bare_king: 5, repetition: 1, perpetual_check: 7, ply_limit: 4, adjudicated: 6 };

// games counts finished games per row by a label, over a wide window.
const games = (s, label) => new Map([...s.by("kirin_selfplay_games_total", label)].map(([k, c]) => [k, s.growth(c, 2 * s.width).map((g) => g && Math.max(0, g.by))]));

// cores are those that the machine has for us: all, less what its host takes.
function cores(s) {
  const all = s.value("kirin_cpu_cores"), stolen = s.rate(s.value("kirin_cpu_steal_seconds_total"), s.width);
  return all?.map((v, i) => (v === null ? null : Math.max(0, v - (stolen?.[i] || 0))));
}

export const groups = [
  ["Strength", [
    { id: "rating", title: "Rating", unit: "Elo", ratings: true, wide: true, empty: "The first rating games have not been played yet",
      hint: "Should climb fast at first, then ever more slowly. The band is the 95 % interval; dashed lines are fixed opponents, which do not learn. A fall of more than the band is worth a look." },
  ]],
  ["Learning", [
    { id: "policy", title: "Policy loss", lines: losses("policy"),
      hint: "Should fall fast, then flatten. New games should stay close to the window: a gap that widens means over-fitting." },
    { id: "value", title: "Value loss", lines: losses("value"),
      hint: "Should fall early and then stay level, as even opponents become hard to call. Again the two lines belong together." },
    { id: "entropy", title: "Policy entropy", unit: "nats", zero: true,
      lines: (s) => [{ label: "net", values: s.value("kirin_selfplay_policy_entropy_nats") }, { label: "after search", values: s.value("kirin_selfplay_target_entropy_nats"), color: 2 }],
      hint: "Should fall slowly and stay well above 0, the search a little below the net. At 0 self-play repeats itself." },
    { id: "plies-left", title: "Plies-left loss", optional: true, lines: losses("plies_left"), hint: "Should fall and stay level." },
    { id: "auxiliary", title: "Auxiliary losses", optional: true,
      lines: (s) => [["soft policy", "soft"], ["opponent's reply", "reply"]].map(([label, h], i) => ({ label, values: s.value(head("loss", h)), color: i })).filter((l) => l.values?.some((v) => v !== null)),
      hint: "Losses of heads that only the trainer has: should fall and stay level." },
    { id: "accuracy", title: "Policy accuracy", format: percent, optional: true, lines: one("kirin_train_policy_accuracy_ratio"),
      hint: "How often net and search prefer the same move: should rise, then level off well below 100 %." },
    { id: "calibration", title: "Value calibration error", format: percent, zero: true, optional: true, lines: one("kirin_selfplay_value_error_ratio"),
      hint: "How far expected and actual results lie apart: should fall below 5 % and stay there." },
    { id: "gradient", title: "Gradient norm", log: true, lines: highest("kirin_train_gradient_norm"),
      hint: "Should stay within one power of ten. Peaks are clipped; a steady climb leads to dropped steps." },
    { id: "activation", title: "Largest activation", log: true, optional: true, lines: highest("kirin_train_largest_activation"),
      hint: "Should rise early and level off. Above 10,000 the net loses precision." },
    { id: "rate", title: "Learning rate", optional: true, zero: true, lines: (s) => [{ label: "", values: s.value("kirin_train_learning_rate"), exact: true }], hint: "Should follow its schedule: up in the warm-up, then down." },
    { id: "dropped", title: "Dropped steps", optional: true, zero: true,
      lines: (s) => [["dropped", "kirin_train_dropped_steps_total"], ["checkpoints restored", "kirin_train_restored_checkpoints_total"]]
        .map(([label, name]) => ({ label, values: s.value(name), exact: true })).filter((l) => l.values?.some((v) => v > 0)),
      hint: "Steps that were not finite and were undone: should stay at 0, a few over days are harmless." },
  ]],
  ["Speed", [
    { id: "cpu", title: "Cores busy, by part", format: (v) => (v === null ? "–" : v.toFixed(2)), stack: (s) => ({
      parts: ordered(new Map([...s.by("kirin_cpu_seconds_total", "part")].map(([k, c]) => [k, s.rate(c, s.width)])), parts),
      limit: cores(s), limitLabel: "cores there are" }),
      hint: "Should fill the space up to the dashed line, most of it the net. Empty space below the line is idle time." },
    { id: "games-rate", title: "Games", unit: "per second", zero: true, lines: rate("kirin_selfplay_games_total"),
      hint: "Moves opposite to the length of games; for games of one length it should be level." },
    { id: "plies-rate", title: "Plies", unit: "per second", zero: true, lines: rate("kirin_selfplay_plies_total"),
      hint: "Should be level. A step down means that something else uses the machine." },
    { id: "positions-rate", title: "Positions evaluated", unit: "per second", zero: true, lines: rate("kirin_network_positions_total"), hint: "Should be level: the raw speed of the net in play." },
    { id: "samples-rate", title: "Samples trained on", unit: "per second", zero: true, lines: rate("kirin_train_samples_total"),
      hint: "Should be level once the first games are in, at the set multiple of new positions." },
  ]],
  ["Games", [
    { id: "reasons", title: "How games end", format: percent, stack: (s) => ({ share: true, colors: Object.fromEntries(Object.entries(reasonColors).map(([k, c]) => [words(k), c])),
      parts: new Map([...ordered(games(s, "reason"), reasons)].map(([k, c]) => [words(k), c])) }),
      hint: "Wins on the board should soon take over. Repetition or the ply limit in half of all games leaves little to learn." },
    { id: "results", title: "Results", format: percent, stack: (s) => ({ share: true, colors: { sente: 0, draw: 6, gote: 1 }, parts: ordered(games(s, "result"), ["sente", "draw", "gote"]) }),
      hint: "Both sides should win their share. Nearly all draws, or all wins for one side, is a collapse." },
    { id: "fps", title: "First player's score", format: percent, lines: one("kirin_selfplay_first_player_score_ratio"),
      hint: "Should settle near 50 %, a little above where moving first helps. Near 0 or 100 %, one side has stopped learning." },
    { id: "length", title: "Game length", unit: "plies", zero: true,
      lines: (s) => [{ label: "", values: s.quotient(s.sum("kirin_selfplay_game_plies_sum"), s.sum("kirin_selfplay_game_plies_count")), exact: true }],
      hint: "Swings while the net learns to attack, then to defend; should then stay level." },
    { id: "variety", title: "Variety", format: percent, zero: true, optional: true,
      lines: (s) => [["commonest first move", "kirin_selfplay_first_move_ratio"], ["duplicate positions", "kirin_window_duplicate_positions_ratio"], ["ended by repetition", "kirin_selfplay_repetition_ratio"]]
        .map(([label, name], i) => ({ label, values: s.value(name), color: i })),
      hint: "All should stay well below 100 %: when they rise together, the games resemble each other." },
    { id: "mate", title: "Mates found by search", format: percent, zero: true, optional: true,
      lines: (s) => [{ label: "", exact: true, values: s.quotient(s.value('kirin_mate_searches_total{result="mate"}'), s.sum("kirin_mate_searches_total")) }],
      hint: "Share of mate searches that found a mate: falls as both sides learn to avoid it." },
    { id: "resign", title: "False resignations", format: percent, zero: true, optional: true,
      lines: (s) => [{ label: "", exact: true, values: s.quotient(s.value("kirin_selfplay_resignations_false_total"), s.value("kirin_selfplay_resignations_checked_total"), 4 * s.width) }],
      hint: "Should stay below 5 %: more, and games are given up that were not lost." },
  ]],
  ["Data", [
    { id: "window", title: "Window", unit: "positions", zero: true,
      lines: (s) => [{ label: "held", values: s.value("kirin_window_positions"), exact: true }, { label: "limit", values: s.value("kirin_window_limit_positions"), dash: true, color: 6, exact: true }],
      hint: "Should follow its limit, which grows more and more slowly." },
    { id: "ratio", title: "Samples per position", zero: true,
      lines: (s) => [{ label: "actual", values: s.value("kirin_train_samples_per_position_ratio"), exact: true }, { label: "set", values: s.value("kirin_train_samples_per_position_target_ratio"), dash: true, color: 6, exact: true }],
      hint: "Should stay on the dashed line. Far above it the net over-fits, far below it games are wasted." },
    { id: "staleness", title: "Age of the samples", unit: "steps", zero: true, optional: true, lines: one("kirin_train_staleness_steps"),
      hint: "Should grow no faster than the window." },
    { id: "memory", title: "Memory", zero: true, format: bytes,
      lines: (s) => [{ label: "process", values: s.value("process_resident_memory_bytes") }, { label: "window", values: s.value("kirin_window_bytes"), color: 2 }],
      hint: "Should be flat once the window has filled." },
    { id: "disk", title: "Disk", format: bytes, optional: true,
      stack: (s) => ({ parts: ordered(s.by("kirin_disk_used_bytes", "kind"), ["games", "weights", "checkpoints"]), limit: s.value("kirin_disk_limit_bytes")?.map((v) => v || null), limitLabel: "limit for games" }),
      hint: "Games should level off at their limit." },
    { id: "quarantine", title: "Damaged files", optional: true, zero: true,
      lines: (s) => [{ label: "set aside", values: s.value("kirin_dataset_quarantined_files_total"), exact: true }].filter((l) => l.values?.some((v) => v > 0)),
      hint: "Should stay at 0; run kirin check when it does not." },
  ]],
  ["Fleet", [
    { id: "fleet-workers", title: "Workers", optional: true, zero: true,
      lines: (s) => [["heard of", "kirin_fleet_workers"], ["wanted", "kirin_fleet_wanted_workers"], ["quarantined", "kirin_fleet_quarantined_workers"]]
        .map(([label, name], i) => ({ label, values: s.value(name), exact: true, color: [0, 6, 1][i], dash: i === 1 })),
      hint: "Machines that play for this run. Quarantined should stay at 0." },
    { id: "fleet-games", title: "Games of workers", unit: "per second", optional: true, zero: true,
      lines: (s) => [{ label: "stored", values: s.rate(s.sum("kirin_fleet_games_total")) }, { label: "turned away", values: s.rate(s.sum("kirin_fleet_refused_total")), color: 1 }].filter((l) => l.values?.some((v) => v > 0)),
      hint: "Should be level; what is turned away should be near 0, but for repeated games after a restart." },
    { id: "fleet-backlog", title: "Backlog", unit: "games", optional: true, zero: true,
      lines: (s) => [{ label: "in the queue", values: s.value("kirin_fleet_backlog_games") }, { label: "not in a shard yet", values: s.value("kirin_fleet_unacknowledged_games"), color: 2 }],
      hint: "Should rise and fall around a level. A steady climb means more workers than the trainer can take." },
    { id: "fleet-staleness", title: "Age of the workers' nets", unit: "steps", optional: true, zero: true, lines: one("kirin_fleet_staleness_steps"),
      hint: "Should stay near the steps between two nets: more, and workers cannot fetch the newest." },
    { id: "fleet-refused", title: "Turned away, by reason", optional: true,
      stack: (s) => ({ parts: new Map([...s.by("kirin_fleet_refused_total", "reason")].map(([k, c]) => [words(k), s.growth(c, 2 * s.width).map((g) => g && Math.max(0, g.by))])) }),
      hint: "Duplicates after a restart are normal. Illegal moves, forged results and foreign keys are somebody's fault or attack." },
  ]],
];

// keys are the names to ask the program for.
export const keys = [
  "kirin_cpu_cores", "kirin_cpu_seconds_total", "kirin_cpu_steal_seconds_total", "kirin_dataset_quarantined_files_total", "kirin_disk_limit_bytes", "kirin_disk_used_bytes",
  "kirin_fleet_backlog_games", "kirin_fleet_games_total", "kirin_fleet_quarantined_workers", "kirin_fleet_refused_total", "kirin_fleet_staleness_steps", "kirin_fleet_unacknowledged_games",
  "kirin_fleet_wanted_workers", "kirin_fleet_workers",
  "kirin_mate_searches_total", "kirin_network_positions_total", "kirin_selfplay_first_move_ratio", "kirin_selfplay_first_player_score_ratio", "kirin_selfplay_game_plies_count",
  "kirin_selfplay_game_plies_sum", "kirin_selfplay_games_total", "kirin_selfplay_plies_total", "kirin_selfplay_policy_entropy_nats", "kirin_selfplay_repetition_ratio",
  "kirin_selfplay_resignations_checked_total", "kirin_selfplay_resignations_false_total", "kirin_selfplay_target_entropy_nats", "kirin_selfplay_value_error_ratio",
  "kirin_train_dropped_steps_total", "kirin_train_fresh_loss", "kirin_train_gradient_norm", "kirin_train_largest_activation", "kirin_train_learning_rate", "kirin_train_loss",
  "kirin_train_policy_accuracy_ratio", "kirin_train_restored_checkpoints_total", "kirin_train_samples_per_position_ratio", "kirin_train_samples_per_position_target_ratio",
  "kirin_train_samples_total", "kirin_train_staleness_steps", "kirin_window_bytes", "kirin_window_duplicate_positions_ratio", "kirin_window_limit_positions",
  "kirin_window_positions", "process_resident_memory_bytes",
];
