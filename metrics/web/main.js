// The page: asks the program for the runs, follows its events, and keeps
// figures, board, games and charts up to date.
import { axes } from "./axis.js";
import { groups, keys } from "./catalogue.js";
import { Chart } from "./chart.js";
import { last, Series } from "./series.js";
import { age, amount, clock, duration, el, fetchJSON, remember, remembered, replace, whole, words } from "./util.js";
import { Viewer } from "./viewer.js";

const $ = (id) => document.getElementById(id);
const rows = 400, refreshEvery = 5000, listLength = 60;

const state = {
  status: null, runs: [], games: [], chosen: null, listed: innerWidth < 760 ? 5 : 12, connected: true,
  view: { axis: remembered("axis", "elapsed"), smooth: remembered("smooth", "yes") === "yes" },
};
if (!axes[state.view.axis]) state.view.axis = "elapsed";

const viewer = new Viewer($("viewer"), () => { state.chosen = null; showGames(); });
const charts = [];

async function start() {
  theme();
  tools();
  for (const [name, specs] of groups) {
    const made = specs.map((s) => new Chart(s));
    charts.push(...made);
    $("groups").append(el("section", { class: "group" }, el("h2", {}, name), el("div", { class: "grid" }, made.map((c) => c.node))));
  }
  replace($("footer"), el("span", {}, "kirin"), el("a", { href: "/metrics" }, "metrics"), el("a", { href: "/kirin-grafana.json", download: true }, "Grafana dashboard"), el("a", { href: "/kirin-alerts.yaml", download: true }, "alert rules"));
  try {
    await takeStatus(await fetchJSON("/api/status"));
    const board = await fetchJSON("/api/board");
    if (board) viewer.setLive(board);
    await refresh();
    if (!state.status.live && state.games.length) await openGame(state.games[0].id);
  } catch (e) {
    lost(e);
  }
  // With ?still the page is drawn once, for a picture or a print.
  if (!new URLSearchParams(location.search).has("still")) follow();
}

// follow listens to the program's events, and reconnects by itself. A page
// that nobody sees lets go.
function follow() {
  let source = null;
  const open = () => {
    if (source) return;
    source = new EventSource("/events");
    source.addEventListener("status", (e) => { state.connected = true; takeStatus(JSON.parse(e.data)); });
    source.addEventListener("board", (e) => viewer.setLive(JSON.parse(e.data)));
    source.addEventListener("points", refreshSoon);
    source.addEventListener("error", () => lost());
  };
  const close = () => { source?.close(); source = null; };
  let idle = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(idle);
    if (document.hidden) idle = setTimeout(close, 60000);
    else { open(); refreshSoon(); }
  });
  open();
  setInterval(() => state.status?.waiting.length && showStatus(), 1000);
}

function lost(error) {
  state.connected = false;
  if (error) state.error = error.message;
  showStatus();
}

let timer = null, refreshedAt = 0;
function refreshSoon() {
  if (timer || document.hidden) return;
  timer = setTimeout(() => { timer = null; refresh().catch(lost); }, Math.max(0, refreshedAt + refreshEvery - Date.now()));
}

async function takeStatus(status) {
  state.status = status;
  status.runs.forEach((r, i) => {
    state.runs[i] = Object.assign(state.runs[i] || { index: i, color: i, shown: true, focus: i === 0 }, r);
  });
  document.title = status.title + " · kirin";
  $("title").textContent = status.title;
  showStatus();
}

async function refresh() {
  refreshedAt = Date.now();
  await Promise.all(state.runs.filter((r) => r.shown).map(async (run) => {
    const at = "run=" + run.index;
    const [series, ratings] = await Promise.all([fetchJSON(`/api/series?${at}&n=${rows}&keys=${keys.join(",")}`), fetchJSON("/api/ratings?" + at)]);
    run.series = new Series(series);
    run.ratings = ratings;
  }));
  state.games = await fetchJSON(`/api/games?run=${focus().index}&n=${listLength}`);
  show();
}

const focus = () => state.runs.find((r) => r.focus) || state.runs[0];

function show() {
  showStatus();
  state.runs.length > 1 ? showRuns() : showTiles();
  showGames();
  drawCharts();
}

function drawCharts() {
  const runs = state.runs.filter((r) => r.shown && r.series?.length);
  charts.forEach((c) => c.update(runs, state.view));
  document.body.setAttribute("data-ready", runs.length);
}

// showStatus writes the line under the header: what the run does, or why not.
function showStatus() {
  const { status } = state, node = $("status");
  let kind = "done", text = "";
  if (!state.connected) {
    kind = "lost";
    text = (state.error || "No connection to the program") + ". It has stopped or cannot be reached; what you see is the last that it said.";
  } else if (status) {
    const run = focus();
    const s = run.series;
    const ran = s?.length ? duration(s.elapsed[s.length - 1]) : null;
    if (status.waiting.length) {
      kind = "waits";
      text = status.waiting.map((w) => `${partNames[w.part] || words(w.part)} waits: ${w.detail || words(w.reason)} (${duration(Math.max(0, Date.now() / 1000 - Date.parse(w.since) / 1000))})`).join(" · ");
    } else if (status.live) {
      kind = "live";
      text = run.points ? "Playing and learning" : "Started; the first figures come in a few seconds";
    } else {
      text = status.runs.length > 1 ? `${status.runs.length} runs, laid over each other` : "This run is not going on now";
    }
    if (ran && status.runs.length === 1) text += ` · ran for ${ran}`;
    const { done, left } = status.progress;
    if (done > 0) text += ` · ${Math.floor(100 * done)} %` + (left > 0 ? `, ${duration(left)} left` : "");
    const damaged = status.runs.reduce((n, r) => n + r.damaged, 0);
    if (damaged) text += ` · ${damaged} damaged lines of the history were skipped`;
  }
  node.className = "status " + kind;
  node.querySelector(".text").textContent = text;
}

const partNames = { train: "Training", selfplay: "Self-play", rating: "Rating" };

// recent is a rate over the last rows.
const recent = (s, name) => last(s.rate(s.sum(name), 3));

function newest(run) {
  const nets = (run.ratings || []).filter((r) => !r.anchor).sort((a, b) => a.step - b.step);
  return nets[nets.length - 1];
}

function showTiles() {
  const run = focus(), s = run.series;
  if (!s) return;
  const rated = newest(run), positions = last(s.value("kirin_window_positions"));
  const busy = recent(s, "kirin_cpu_seconds_total"), cores = last(s.value("kirin_cpu_cores"));
  const rate = (name, unit) => { const v = recent(s, name); return v === null ? "" : amount(v) + " " + unit; };
  const tile = (label, value, more) => el("div", { class: "tile" }, el("span", {}, label), el("b", {}, value), el("small", {}, more || ""));
  replace($("tiles"),
    tile("Training step", whole(run.step), rate("kirin_train_samples_total", "samples/s")),
    tile("Games", whole(run.games), rate("kirin_selfplay_games_total", "games/s")),
    tile("Plies per second", amount(recent(s, "kirin_selfplay_plies_total")), rate("kirin_network_positions_total", "positions/s")),
    tile("Rating", rated ? whole(rated.elo) : "–", rated ? `± ${Math.round((rated.high - rated.low) / 2)} Elo, step ${whole(rated.step)}` : "not played yet"),
    tile("Window", amount(positions), positions === null ? "" : "positions"),
    tile("Cores busy", amount(busy), cores === null ? "" : "of " + amount(cores)));
}

// showRuns lists several runs, to switch their curves on and off.
function showRuns() {
  const line = (run) => {
    const s = run.series, rated = newest(run);
    return el("tr", { class: (run.focus ? "focus" : "") + (run.shown ? "" : " off") },
      el("td", {}, el("label", {}, el("input", { type: "checkbox", checked: run.shown, onchange: () => { run.shown = !run.shown; run.shown && !run.series ? refresh().catch(lost) : show(); } }), el("i", { class: "chip c" + (run.color % 8) }), run.name)),
      el("td", { class: "wideonly" }, words(run.variant)), el("td", {}, whole(run.step)), el("td", { class: "wideonly" }, whole(run.games)),
      el("td", { class: "wideonly" }, s?.length ? duration(s.elapsed[s.length - 1]) : "–"),
      el("td", {}, rated ? `${whole(rated.elo)} ± ${Math.round((rated.high - rated.low) / 2)}` : "–"),
      el("td", {}, el("button", { type: "button", class: "pill", "aria-pressed": run.focus, title: "Show this run's games, anchors and shares", onclick: () => look(run) }, run.focus ? "shown" : "show")));
  };
  $("tiles").classList.add("several");
  replace($("tiles"), el("table", { class: "runs" },
    el("thead", {}, el("tr", {}, el("th", {}, "Run"), el("th", { class: "wideonly" }, "Game"), el("th", {}, "Step"), el("th", { class: "wideonly" }, "Games"), el("th", { class: "wideonly" }, "Ran for"), el("th", {}, "Rating"), el("th", {}, "Games, shares"))),
    el("tbody", {}, state.runs.map(line))));
}

async function look(run) {
  state.runs.forEach((r) => { r.focus = r === run; });
  run.shown = true;
  state.chosen = null;
  try {
    await refresh();
    if (state.games.length) await openGame(state.games[0].id);
  } catch (e) {
    lost(e);
  }
}

function showGames() {
  const list = state.games.slice(0, state.listed);
  const line = (g) => el("li", {}, el("button", { type: "button", class: g.id === state.chosen ? "current" : "", onclick: () => openGame(g.id).catch(lost) },
    el("i", { class: "result " + (g.result === "*" ? "open" : g.result), title: g.result }), el("span", { class: "how" }, words(g.reason && g.reason !== "none" ? g.reason : "unfinished")),
    el("span", { class: "plies" }, g.plies + " plies"), el("span", { class: "net" }, g.net), el("span", { class: "when", title: g.time ? "ended " + clock(g.time, true) : "" }, g.time ? ago(g.time) : "")));
  replace($("games"), el("header", {}, el("h2", {}, "Recent games"), el("span", { class: "key" }, el("i", { class: "result sente" }), "sente", el("i", { class: "result gote" }), "gote", el("i", { class: "result draw" }), "draw")),
    list.length ? el("ul", {}, list.map(line)) : el("p", { class: "empty" }, "No game is finished yet"),
    state.games.length > state.listed ? el("button", { type: "button", class: "pill more", onclick: () => { state.listed += 24; showGames(); } }, "Show more") : "");
}

function ago(t) {
  const s = Date.now() / 1000 - t;
  return s < 7 * 86400 ? age(Math.max(0, s)) : clock(t, true).slice(0, 6);
}

async function openGame(id) {
  const game = await fetchJSON(`/api/game/${encodeURIComponent(id)}?run=${focus().index}`);
  state.chosen = id;
  viewer.showGame(game, !state.status.live && viewer.game === null);
  showGames();
}

// tools are the switches above the charts.
function tools() {
  const choice = (key) => el("button", { type: "button", "aria-pressed": state.view.axis === key, title: axes[key].label, onclick: () => { state.view.axis = key; remember("axis", key); tools(); drawCharts(); } }, axes[key].short);
  replace($("tools"), el("span", { class: "segments", role: "group", "aria-label": "Horizontal axis" }, Object.keys(axes).map(choice)),
    el("label", { class: "check" }, el("input", { type: "checkbox", checked: state.view.smooth, onchange: (e) => { state.view.smooth = e.target.checked; remember("smooth", state.view.smooth ? "yes" : "no"); drawCharts(); } }), "Smooth"));
}

// theme follows the system until the reader chooses.
function theme() {
  const order = ["auto", "light", "dark"];
  const apply = (t) => { document.documentElement.dataset.theme = t; $("theme").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[t]; };
  let now = remembered("theme", "auto");
  if (!order.includes(now)) now = "auto";
  apply(now);
  $("theme").addEventListener("click", () => { now = order[(order.indexOf(now) + 1) % 3]; remember("theme", now); apply(now); });
}

start();
