// The settings in groups, with titles for people. Their meanings come from the service.

export const GROUPS = [
  ["learning", "Learning", "How the model learns from a label.",
    ["algorithm", "eta", "r", "delta", "forgetting", "costs", "cost_positive", "cost_negative", "mu_positive", "denominator"]],
  ["sparsity", "Sparsity", "How many weights are zero: fewer weights are easier to read, and cost some accuracy.",
    ["target_sparsity", "lambda", "lambda_schedule", "threshold_on", "truncate_every", "truncate_below"]],
  ["threshold", "Threshold", "From which score on an item is an anomaly.", ["threshold", "objective", "target"]],
  ["inputs", "Inputs and numbers", "How what is sent becomes features.", ["numbers", "normalize", "bias", "featurizer"]],
  ["review", "Review policy", "Which predictions people are asked about. Honest figures rest on the random share.",
    ["reviews_per_day", "review_uncertain", "review_band", "review_flagged", "review_random"]],
  ["kept", "What is kept", "What is stored beside the model, for a while.", ["keep_predictions", "keep_inputs"]],
  ["limits", "Limits", "What a tenant may take.", ["max_features"]],
];

const TITLES = {
  algorithm: "Algorithm", eta: "Learning rate", r: "Regularisation", delta: "First denominator", forgetting: "Forgetting",
  costs: "Costs of errors", cost_positive: "Cost of a missed anomaly", cost_negative: "Cost of a false alarm",
  mu_positive: "Weight of sensitivity", denominator: "Denominator", target_sparsity: "Target sparsity", lambda: "Lambda",
  lambda_schedule: "Lambda over time", threshold_on: "Lambda cuts off", truncate_every: "Truncate every", truncate_below: "Truncate below",
  threshold: "Threshold", objective: "Objective", target: "Target", numbers: "Numbers", normalize: "Length of examples", bias: "Bias",
  featurizer: "Featurizer", reviews_per_day: "Reviews per day", review_uncertain: "Uncertain ones", review_band: "Width of uncertain",
  review_flagged: "Alarms", review_random: "At random", keep_predictions: "Keep predictions", keep_inputs: "Keep inputs",
  max_features: "Most features",
};
export const titleOf = (name) => TITLES[name] ?? name;

export const TARGET_TITLES = {
  false_positive_rate: "False positive rate", sensitivity: "Sensitivity", precision: "Precision", reviews_per_day: "Flagged items per day",
};

// Shares that people read as per cent.
export const SHARES = new Set(["review_uncertain", "review_band", "review_flagged", "review_random", "target_sparsity", "forgetting"]);

const EFFECTS = {
  algorithm: "A new model begins: what was learnt is gone, and settings of its own begin with its defaults.",
  numbers: "The weights that were learnt stay, but meet values of another size. Change it before the first labels.",
  normalize: "The weights that were learnt stay, but meet examples of another length.",
  bias: "The weights that were learnt stay.",
  featurizer: "Inputs get other features: weights of features that no longer come up are left without use.",
  threshold: "Verdicts change at once. A number ends a target.",
  objective: "The threshold is chosen anew from the labels. Without an objective, predictions have no probability.",
  target: "The threshold follows the rate as soon as there are labels enough, and is learnt until then.",
  costs: "It weighs what the model learns from now on.",
  cost_positive: "It makes the costs given, and weighs what the model learns from now on.",
  cost_negative: "It makes the costs given, and weighs what the model learns from now on.",
  target_sparsity: "It replaces lambda.",
  lambda: "It ends a target sparsity.",
  keep_predictions: (value) => value === false && "Without kept predictions, labels must be sent with their inputs, and nothing can be reviewed.",
  keep_inputs: "It applies to predictions from now on. Inputs that are kept stay until they expire.",
  review_random: (value) => value === 0 && "There is no review policy any more, and honest figures stop.",
  max_features: "Features that the model knows already stay.",
};

/** What a change to a value means, beyond the value; empty if it goes without saying. */
export function effectOf(name, value) {
  const effect = EFFECTS[name];
  return typeof effect === "function" ? effect(value) : effect;
}
