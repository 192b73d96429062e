// Scales and ticks.
import { amount, clock, duration } from "./util.js";

// axes are the choices for the horizontal axis; each is a column of a series.
export const axes = {
  elapsed: { label: "Running time", short: "Time", tick: spanTick, value: (v) => duration(v) },
  step: { label: "Training steps", short: "Steps", tick: amount, value: (v) => "step " + Math.round(v).toLocaleString("en") },
  games: { label: "Games", short: "Games", tick: amount, value: (v) => Math.round(v).toLocaleString("en") + " games" },
  time: { label: "Time of day", short: "Clock", tick: null, value: (v) => clock(v, true) },
};

// scale maps [a, b] to [p, q]; with log, in decades.
export function scale(a, b, p, q, log) {
  const f = log ? Math.log10 : (v) => v;
  const span = f(b) - f(a) || 1;
  return (v) => p + ((f(v) - f(a)) / span) * (q - p);
}

// ticks are round numbers in [a, b], about n of them.
export function ticks(a, b, n) {
  const raw = (b - a) / Math.max(1, n);
  if (!(raw > 0)) return [a];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999);
  return stepped(a, b, step, 0);
}

// logTicks are decades, with 2 and 5 between them when there are few.
export function logTicks(a, b) {
  const out = [], few = Math.log10(b / a) < 2;
  for (let e = Math.floor(Math.log10(a)); e <= Math.ceil(Math.log10(b)); e++) {
    for (const m of few ? [1, 2, 5] : [1]) {
      const v = m * 10 ** e;
      if (v >= a * 0.999 && v <= b * 1.001) out.push(v);
    }
  }
  return out;
}

const spans = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 28800, 43200, 86400, 172800, 259200, 604800, 2592000];

// timeTicks are round spans of seconds; of the day they fall on round local times.
export function timeTicks(a, b, n, ofDay) {
  const raw = (b - a) / Math.max(1, n);
  const step = spans.find((s) => s >= raw) || 2592000 * Math.ceil(raw / 2592000);
  const shift = ofDay ? new Date(1000 * a).getTimezoneOffset() * 60 : 0;
  return stepped(a, b, step, shift);
}

function stepped(a, b, step, shift) {
  const out = [];
  for (let v = Math.ceil((a - shift) / step - 1e-9) * step + shift; v <= b + step * 1e-6 && out.length < 50; v += step) {
    out.push(Math.abs(v) < step * 1e-6 ? 0 : v);
  }
  return out;
}

function spanTick(v, step) {
  if (v === 0) return "0";
  if (step >= 86400) return v / 86400 + " d";
  if (step >= 3600) return v / 3600 + " h";
  if (v >= 3600) {
    const h = Math.floor(v / 3600), m = Math.round((v % 3600) / 60);
    return h + ":" + String(m).padStart(2, "0") + " h";
  }
  if (step >= 60) return v / 60 + " min";
  return v >= 60 ? Math.floor(v / 60) + ":" + String(v % 60).padStart(2, "0") : v + " s";
}

// tickText writes a tick of a horizontal axis.
export function tickText(axis, v, step, range) {
  if (axis === "time") return step >= 86400 || range > 3 * 86400 ? clock(v, true).replace(/ 00:00$/, "") : clock(v);
  return axes[axis].tick(v, step);
}
