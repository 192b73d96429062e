// Elements, numbers and times as text.

// el makes an HTML element: attributes, event handlers (onclick), children.
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg makes an SVG element.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k.startsWith("aria-")) node.setAttribute(k, String(v));
    else if (v === undefined || v === null || v === false) continue;
    else if (k.startsWith("on")) node.addEventListener(k.slice(2), v);
    else node.setAttribute(k, v === true ? "" : v);
  }
  node.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

// replace puts children in the place of what a node holds.
export function replace(node, ...children) {
  node.replaceChildren(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
}

const missing = "–";

// amount writes a number with three or four digits that matter: 12.4k, 0.031.
export function amount(v) {
  if (v === null || v === undefined || !isFinite(v)) return missing;
  const a = Math.abs(v);
  if (a >= 1e12) return v.toExponential(2).replace("e+", "e");
  for (const [limit, by, sign] of [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]]) {
    if (a >= limit) return trim(v / by, 3) + sign;
  }
  if (a >= 1000) return whole(v);
  if (a !== 0 && a < 0.001) return v.toExponential(1).replace("e-", "e-");
  return trim(v, 3);
}

// trim writes a number below 1000 with so many significant digits.
function trim(v, digits) {
  if (v === 0) return "0";
  const places = Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(Math.abs(v)))));
  const text = v.toFixed(places);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "−");
}

// whole writes a whole number with thousands apart.
export function whole(v) {
  return v === null || v === undefined || !isFinite(v) ? missing : Math.round(v).toLocaleString("en").replace("-", "−");
}

export function bytes(v) {
  if (v === null || v === undefined || !isFinite(v)) return missing;
  for (const [limit, sign] of [[2 ** 40, "TB"], [2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]]) {
    if (Math.abs(v) >= limit) return trim(v / limit, 3) + " " + sign;
  }
  return v + " B";
}

export function percent(v) {
  return v === null || v === undefined || !isFinite(v) ? missing : trim(100 * v, v < 0.1 ? 2 : 3) + " %";
}

// duration writes seconds with its two largest units: 2 h 14 min.
export function duration(s) {
  if (s === null || s === undefined || !isFinite(s)) return missing;
  s = Math.round(s);
  if (s < 60) return s + " s";
  const m = Math.round(s / 60);
  if (m < 60) return m + " min";
  const h = Math.floor(m / 60);
  if (h < 48) return h + " h" + (m % 60 ? " " + (m % 60) + " min" : "");
  return Math.floor(h / 24) + " d" + (h % 24 ? " " + (h % 24) + " h" : "");
}

// age writes seconds with one unit: 2 h.
export function age(s) {
  return duration(s < 60 ? s : s < 3600 ? 60 * Math.round(s / 60) : s < 86400 ? 3600 * Math.round(s / 3600) : 86400 * Math.round(s / 86400));
}

// clock writes seconds since 1970 as local time, with the day when asked.
export function clock(t, day) {
  const d = new Date(1000 * t);
  const hm = String(d.getHours()).padStart(2, "0") + ":" + String(d.getMinutes()).padStart(2, "0");
  return day ? d.toLocaleDateString("en", { month: "short", day: "numeric" }) + " " + hm : hm;
}

// words turns a label value into words: royal_captured, "royal captured".
export function words(s) {
  return String(s).replaceAll("_", " ");
}

// remembered is a choice of the reader that a reload keeps.
export function remembered(key, initial) {
  try {
    return localStorage.getItem("kirin." + key) ?? initial;
  } catch {
    return initial;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem("kirin." + key, value);
  } catch {
    // A browser that stores nothing starts from the defaults each time.
  }
}

// fetchJSON asks the program; an error carries the program's own sentence.
export async function fetchJSON(path) {
  const answer = await fetch(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || answer.statusText);
  return body;
}
