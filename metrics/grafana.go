package metrics

import (
	"encoding/json"
	"fmt"
	"strings"
)

// panel is one chart of the Grafana dashboard.
type panel struct {
	title, unit, help string
	stack             bool
	targets           [][2]string // query, legend
}

// grafanaRows are the dashboard's rows; a query's selector $run stands for
// {instance=~"$instance"}.
var grafanaRows = []struct {
	title  string
	panels []panel
}{
	{"Strength", []panel{
		{"Rating of the newest net", "none", "Should rise fast, then slowly. The band is the 95 % interval; the anchors stay where they are.", false, [][2]string{
			{`kirin_rating_elo$run`, "{{player}}"},
			{`kirin_rating_low_elo{player="newest",instance=~"$instance"}`, "newest, low"},
			{`kirin_rating_high_elo{player="newest",instance=~"$instance"}`, "newest, high"}}},
		{"Waiting", "none", "Short waits are normal; a line that stays says what the run lacks.", false, [][2]string{
			{`kirin_waiting$run == 1`, "{{part}}: {{reason}}"}}},
	}},
	{"Learning", []panel{
		{"Policy loss", "none", "Should fall and flatten; new games stay close to the window.", false, [][2]string{
			{`kirin_train_loss{head="policy",instance=~"$instance"}`, "window"}, {`kirin_train_fresh_loss{head="policy",instance=~"$instance"}`, "new games"}}},
		{"Value loss", "none", "Should fall at first, then stay level.", false, [][2]string{
			{`kirin_train_loss{head="value",instance=~"$instance"}`, "window"}, {`kirin_train_fresh_loss{head="value",instance=~"$instance"}`, "new games"}}},
		{"Policy entropy", "none", "Should fall slowly and stay well above 0.", false, [][2]string{
			{`kirin_selfplay_policy_entropy_nats$run`, "net"}, {`kirin_selfplay_target_entropy_nats$run`, "search"}}},
		{"Gradient norm", "none", "Should stay within one order of magnitude.", false, [][2]string{{`kirin_train_gradient_norm$run`, "norm"}}},
		{"Largest activation", "none", "Should level off.", false, [][2]string{{`kirin_train_largest_activation$run`, "activation"}}},
		{"Policy accuracy", "percentunit", "Should rise, then level off well below 1.", false, [][2]string{{`kirin_train_policy_accuracy_ratio$run`, "accuracy"}}},
		{"Calibration error of the value", "percentunit", "Should be below 5 %.", false, [][2]string{{`kirin_selfplay_value_error_ratio$run`, "error"}}},
		{"Dropped steps and restored checkpoints", "none", "Should stay at 0.", false, [][2]string{
			{`increase(kirin_train_dropped_steps_total$run[$__rate_interval])`, "dropped"},
			{`increase(kirin_train_restored_checkpoints_total$run[$__rate_interval])`, "restored"}}},
	}},
	{"Speed", []panel{
		{"Cores busy by part", "none", "The stack should reach the line of all cores.", true, [][2]string{
			{`sum by (part) (rate(kirin_cpu_seconds_total$run[$__rate_interval]))`, "{{part}}"}}},
		{"Cores there are", "none", "All cores, and those that the host of a virtual machine takes away.", false, [][2]string{
			{`kirin_cpu_cores$run`, "cores"}, {`rate(kirin_cpu_steal_seconds_total$run[$__rate_interval])`, "stolen"}}},
		{"Games per second", "none", "Falls while games get longer, then stays level.", false, [][2]string{
			{`sum(rate(kirin_selfplay_games_total$run[$__rate_interval]))`, "games"}}},
		{"Plies per second", "none", "Should stay level.", false, [][2]string{{`rate(kirin_selfplay_plies_total$run[$__rate_interval])`, "plies"}}},
		{"Positions evaluated per second", "none", "Should stay level.", false, [][2]string{{`rate(kirin_network_positions_total$run[$__rate_interval])`, "positions"}}},
		{"Samples per second", "none", "Should stay level.", false, [][2]string{{`rate(kirin_train_samples_total$run[$__rate_interval])`, "samples"}}},
	}},
	{"Games", []panel{
		{"Games by reason of their end", "none", "Ends on the board should take over from limits and repetitions.", true, [][2]string{
			{`sum by (reason) (rate(kirin_selfplay_games_total$run[$__rate_interval]))`, "{{reason}}"}}},
		{"Games by result", "none", "Neither side should win nearly all games.", true, [][2]string{
			{`sum by (result) (rate(kirin_selfplay_games_total$run[$__rate_interval]))`, "{{result}}"}}},
		{"Game length", "none", "Rises or falls early, then stays level.", false, [][2]string{
			{`rate(kirin_selfplay_game_plies_sum$run[$__rate_interval]) / rate(kirin_selfplay_game_plies_count$run[$__rate_interval])`, "mean"},
			{`histogram_quantile(0.9, sum by (le) (rate(kirin_selfplay_game_plies_bucket$run[$__rate_interval])))`, "90 % are shorter"}}},
		{"Variety", "percentunit", "All should stay well below 1.", false, [][2]string{
			{`kirin_selfplay_first_move_ratio$run`, "commonest first move"}, {`kirin_window_duplicate_positions_ratio$run`, "duplicate positions"},
			{`kirin_selfplay_repetition_ratio$run`, "ended by repetition"}}},
		{"First player's score", "percentunit", "Should settle near a half.", false, [][2]string{{`kirin_selfplay_first_player_score_ratio$run`, "score"}}},
		{"False resignations", "percentunit", "Should stay below 5 %.", false, [][2]string{
			{`increase(kirin_selfplay_resignations_false_total$run[$__rate_interval]) / increase(kirin_selfplay_resignations_checked_total$run[$__rate_interval])`, "false"}}},
	}},
	{"Data", []panel{
		{"Window", "none", "Should grow more and more slowly and follow its limit.", false, [][2]string{
			{`kirin_window_positions$run`, "positions"}, {`kirin_window_limit_positions$run`, "limit"}}},
		{"Memory", "bytes", "Should be flat after the window has filled.", false, [][2]string{
			{`process_resident_memory_bytes$run`, "process"}, {`kirin_window_bytes$run`, "window"}}},
		{"Samples per position", "none", "Should stay at its target.", false, [][2]string{
			{`kirin_train_samples_per_position_ratio$run`, "actual"}, {`kirin_train_samples_per_position_target_ratio$run`, "target"}}},
		{"Age of the samples", "none", "Should grow no faster than the window.", false, [][2]string{{`kirin_train_staleness_steps$run`, "steps"}}},
		{"Disk", "bytes", "Games should level off at their limit.", true, [][2]string{{`kirin_disk_used_bytes$run`, "{{kind}}"}}},
		{"Damaged and repeated", "none", "Should stay at 0.", false, [][2]string{
			{`increase(kirin_dataset_quarantined_files_total$run[$__rate_interval])`, "quarantined files"},
			{`increase(kirin_window_duplicate_games_total$run[$__rate_interval])`, "repeated games"}}},
	}},
	{"Fleet", []panel{
		{"Workers", "none", "Machines that play for the run; quarantined should stay at 0.", false, [][2]string{
			{`kirin_fleet_workers$run`, "heard of"}, {`kirin_fleet_wanted_workers$run`, "wanted"}, {`kirin_fleet_quarantined_workers$run`, "quarantined"}}},
		{"Games of workers per second", "none", "Should be level.", false, [][2]string{
			{`rate(kirin_fleet_games_total$run[$__rate_interval])`, "stored"}, {`rate(kirin_fleet_redelivered_total$run[$__rate_interval])`, "delivered again"}}},
		{"Turned away by reason", "none", "Duplicates after a restart are normal; the rest should stay near 0.", true, [][2]string{
			{`increase(kirin_fleet_refused_total$run[$__rate_interval])`, "{{reason}}"}}},
		{"Backlog", "none", "Should rise and fall around a level.", false, [][2]string{
			{`kirin_fleet_backlog_games$run`, "in the queue"}, {`kirin_fleet_unacknowledged_games$run`, "not in a shard yet"}, {`kirin_fleet_outbox_games$run`, "still at the worker"}}},
		{"Delay", "s", "From the queue into a shard: about data.seal_after when games are rare.", false, [][2]string{
			{`histogram_quantile(0.5, sum by (le) (rate(kirin_fleet_delay_seconds_bucket$run[$__rate_interval])))`, "half are faster"},
			{`histogram_quantile(0.9, sum by (le) (rate(kirin_fleet_send_seconds_bucket$run[$__rate_interval])))`, "sending, 90 % are faster"}}},
		{"Age of the workers' nets", "none", "Should stay near the steps between two nets.", false, [][2]string{{`kirin_fleet_staleness_steps$run`, "steps"}}},
	}},
}

// GrafanaDashboard is a dashboard to import into Grafana 10 or later: the
// charts of the page for every instance that a Prometheus scrapes.
func GrafanaDashboard() []byte {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${source}"}
	var panels []object
	id, y := 1, 0
	add := func(p object, x, w, h int) {
		p["id"], p["gridPos"] = id, object{"x": x, "y": y, "w": w, "h": h}
		panels = append(panels, p)
		id++
	}
	for _, row := range grafanaRows {
		add(object{"type": "row", "title": row.title, "collapsed": false, "panels": []object{}}, 0, 24, 1)
		y++
		for i, p := range row.panels {
			var targets []object
			for j, t := range p.targets {
				targets = append(targets, object{"refId": string(rune('A' + j)), "datasource": source, "expr": grafanaQuery(t[0], `{instance=~"$instance"}`), "legendFormat": t[1], "range": true})
			}
			stacking := object{"mode": "none", "group": "A"}
			fill := 0
			if p.stack {
				stacking["mode"], fill = "normal", 40
			}
			add(object{"type": "timeseries", "title": p.title, "description": p.help, "datasource": source, "targets": targets,
				"fieldConfig": object{"defaults": object{"unit": p.unit, "custom": object{"lineWidth": 1, "fillOpacity": fill, "stacking": stacking, "showPoints": "never"}}, "overrides": []object{}},
				"options":     object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}}, "tooltip": object{"mode": "multi", "sort": "desc"}}}, i%3*8, 8, 8)
			if i%3 == 2 || i == len(row.panels)-1 {
				y += 8
			}
		}
	}
	body, err := json.MarshalIndent(object{
		"title": "kirin", "uid": "kirin", "tags": []string{"kirin"}, "schemaVersion": 39, "version": 1, "editable": true,
		"timezone": "browser", "refresh": "30s", "time": object{"from": "now-6h", "to": "now"},
		"templating": object{"list": []object{
			{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
			{"name": "instance", "label": "Run", "type": "query", "datasource": source, "refresh": 2, "includeAll": true, "multi": true,
				"query": object{"query": "label_values(kirin_build_info, instance)", "refId": "runs"}},
		}},
		"annotations": object{"list": []object{}}, "panels": panels,
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("metrics: the dashboard has no JSON form: %v", err)) // maps, strings and numbers only
	}
	return append(body, '\n')
}

// grafanaQuery puts a selector in the place of $run.
func grafanaQuery(query, selector string) string {
	return strings.ReplaceAll(query, "$run", selector)
}
