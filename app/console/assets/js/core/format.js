// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const dateTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));

export function percent(value, digits = 1) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)}%`;
}

export function decimal(value, digits = 3) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

/** A number with a true minus sign, for texts. */
export function real(value, digits = 3) {
  return decimal(value, digits).replace("-", "−");
}

export function signed(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) return `${whole.format(seconds / size)} ${unit}`;
  }
  return `${whole.format(Math.max(seconds, 0))} s`;
}

export function bytes(value) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} B`;
}

export const time = (milliseconds) => (milliseconds ? dateTime.format(new Date(milliseconds)) : "–");
export const hour = (milliseconds) => clock.format(new Date(milliseconds));
export const ago = (milliseconds) => `${duration((Date.now() - milliseconds) / 1000)} ago`;
export const iso = (milliseconds) => new Date(milliseconds).toISOString();
