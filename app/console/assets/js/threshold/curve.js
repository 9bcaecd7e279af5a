// What the curve of a tenant says at any threshold. Between two points it is interpolated.

export const RATES = ["sensitivity", "specificity", "precision", "flagged"];
const ENDS = ["value", "low", "high"];

/** Return the rates at a threshold. */
export function pointAt(points, threshold) {
  const last = points.length - 1;
  if (threshold <= points[0].threshold) return { ...points[0], threshold };
  if (threshold >= points[last].threshold) return { ...points[last], threshold };
  const after = points.findIndex((each) => each.threshold > threshold);
  const [left, right] = [points[after - 1], points[after]];
  const part = (threshold - left.threshold) / (right.threshold - left.threshold);
  const found = { threshold };
  for (const rate of RATES) {
    found[rate] = {};
    for (const end of ENDS) {
      const [a, b] = [left[rate][end], right[rate][end]];
      found[rate][end] = a === null || b === null ? (part < 0.5 ? a : b) : a + part * (b - a);
    }
  }
  return found;
}

/** Return the share of anomalies among all items; null if it is not known. */
export function anomalyShare(points) {
  const { flagged, precision, sensitivity } = points[0]; // nearly everything is above the lowest threshold
  if (!precision.value || !sensitivity.value) return precision.value;
  return (flagged.value * precision.value) / sensitivity.value;
}

/** Return how many items it takes to see some anomalies among them. */
export function roundNumber(share) {
  return [1_000, 10_000, 100_000, 1_000_000].find((number) => number * (share ?? 1) >= 20) ?? 1_000_000;
}

/** Return what happens to so many items, each as {value, low, high}; null where it is not known. */
export function outcome(point, share, items) {
  const times = (rate, factor) => (rate.value === null || factor === null ? null : {
    value: rate.value * factor, low: rate.low * factor, high: rate.high * factor,
  });
  const rest = (rate) => (rate.value === null ? rate : { value: 1 - rate.value, low: 1 - rate.high, high: 1 - rate.low });
  const anomalies = share === null ? null : share * items;
  const normal = share === null ? null : (1 - share) * items;
  return {
    flagged: times(point.flagged, items),
    found: times(point.sensitivity, anomalies),
    alarms: times(rest(point.specificity), normal),
    missed: times(rest(point.sensitivity), anomalies),
    left: times(point.specificity, normal),
  };
}

/** Return about the threshold that meets a target by this curve; null if none does, or if the curve cannot tell. */
export function thresholdFor(points, name, value) {
  const met = {
    false_positive_rate: (each) => each.specificity.value !== null && 1 - each.specificity.value <= value,
    precision: (each) => each.precision.value !== null && each.precision.value >= value,
    sensitivity: (each) => each.sensitivity.value !== null && each.sensitivity.value >= value,
  }[name];
  if (!met) return null;
  const steps = fine(points);
  return (name === "sensitivity" ? steps.reverse() : steps).find(met)?.threshold ?? null;
}

function fine(points) {
  const [first, last] = [points[0].threshold, points[points.length - 1].threshold];
  return Array.from({ length: 1001 }, (_, k) => pointAt(points, first + (k * (last - first)) / 1000));
}
